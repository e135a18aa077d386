/** Texts of tokens that no prompt is made of: `<|im_end|>`, `</s>`, `[PAD151670]`, or nothing at all. */
const notText = /^(?:<[^<>]+>|\[[A-Z]+\d*\])?$/;
/** Larger than any vocabulary there is. */
const most = 2 ** 24;
/** Most added and padding tokens that are looked past at the end of a vocabulary. */
const mostAdded = 4096;
const atOnce = 32;

/**
 * Size of the base vocabulary of a tokenizer that can only be asked for the text of an id: where the ids with a text
 * end (found by halving unless `told`), less the added and padding tokens that stand last. Null when even that cannot
 * be found. `textOf` may throw for an id that does not exist.
 */
export async function baseVocabularySize(
  told: number | undefined,
  textOf: (id: number) => Promise<string>,
  signal?: AbortSignal,
): Promise<number | null> {
  const text = (id: number): Promise<string> =>
    textOf(id).catch(() => {
      signal?.throwIfAborted();
      return '';
    });

  let end = told;
  if (end === undefined) {
    let [exists, absent] = [0, most];
    while (absent - exists > 1) {
      const middle = (exists + absent) >> 1;
      if ((await text(middle)) === '') absent = middle;
      else exists = middle;
    }
    end = absent;
  }

  const lowest = Math.max(0, end - mostAdded);
  while (end > lowest) {
    const from = Math.max(lowest, end - atOnce);
    const texts = await Promise.all(Array.from({ length: end - from }, (_, i) => text(from + i)));
    const last = texts.findLastIndex((one) => !notText.test(one));
    if (last !== -1) return from + last + 1;
    end = from;
  }
  return null;
}
