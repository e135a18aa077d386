import { numpyTwister } from '../../kit/mersenne-twister.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import { numpyShuffle } from './numpy-draws.ts';

/** Ids that are looked at: one behind a network answers for each. */
const mostLookedAt = 4096;
/** Fewer words than this make blocks that resemble each other. */
const fewest = 64;

/**
 * Words, each with a space in front, that are one token wherever they stand: a text of n of them has n tokens, and a
 * text that begins with another begins with its tokens. Null where the tokenizer has no such words.
 */
export async function wordTokens(tokenizer: Tokenizer, signal: AbortSignal): Promise<readonly string[] | null> {
  const { vocabSize, specialIds } = tokenizer;
  const special = new Set(specialIds);
  const looked = Math.min(mostLookedAt, vocabSize);
  const ids = Array.from({ length: looked }, (_, k) => Math.floor((k * vocabSize) / looked)).filter(
    (id) => !special.has(id),
  );
  const texts = await tokenizer.decode(
    ids.map((id) => [id]),
    signal,
  );
  const candidates = ids.flatMap((id, k) => {
    const text = texts[k] as string;
    return /^ [A-Za-z]{2,}$/.test(text) ? [{ id, text }] : [];
  });
  const encoded = await tokenizer.encode(
    candidates.map(({ text }) => text),
    signal,
  );
  const words = candidates.filter(({ id }, k) => {
    const own = encoded[k] as readonly number[];
    return own.length === 1 && own[0] === id;
  });
  if (words.length < fewest || !(await standAlone(words, tokenizer, signal))) return null;
  return words.map(({ text }) => text);
}

/** Whether neighbours leave each other as they are, in a few texts of all of them. */
async function standAlone(
  words: readonly { readonly id: number; readonly text: string }[],
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Promise<boolean> {
  const orders = [1, 2, 3, 4].map((seed) => {
    const order = [...words];
    numpyShuffle(numpyTwister(seed), order);
    return order;
  });
  const encoded = await tokenizer.encode(
    orders.map((order) => order.map(({ text }) => text).join('')),
    signal,
  );
  return orders.every((order, k) => {
    const ids = encoded[k] as readonly number[];
    return ids.length === order.length && order.every(({ id }, i) => ids[i] === id);
  });
}
