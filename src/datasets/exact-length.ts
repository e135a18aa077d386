import type { Random } from '../kit/random.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';

/** A prompt in the making. */
export interface Draft {
  ids: readonly number[];
  /** Tokens that it shall have. */
  readonly target: number;
  text: string;
  roundsLeft: number;
  done: boolean;
}

const rounds = 10;

export const draftOf = (ids: readonly number[], target: number): Draft => ({
  ids,
  target,
  text: '',
  roundsLeft: rounds,
  done: false,
});

/**
 * Makes drafts into texts that encode to exactly as many tokens as they shall have: ids become text, the text becomes
 * ids again (fewer or more, as pieces join and fall apart), which are cut off or filled up with drawn ids, at most ten
 * times. A draft that never settles keeps its last text, and the true count of its tokens.
 *
 * Ids are drawn in the order of the drafts, all that one needs before the next one's, as `vllm bench serve` draws
 * them. Whatever needs no draw goes to the tokenizer in batches.
 */
export async function settleLengths(
  drafts: readonly Draft[],
  tokenizer: Tokenizer,
  random: Random,
  signal?: AbortSignal,
): Promise<void> {
  let cut: readonly Draft[] = drafts;
  do {
    await pass(cut, tokenizer, signal);
    cut = cut.filter(({ done, ids, target }) => !done && ids.length > target);
    for (const draft of cut) mend(draft, tokenizer, random);
  } while (cut.length > 0);

  for (const draft of drafts) {
    while (!draft.done) {
      mend(draft, tokenizer, random);
      await pass([draft], tokenizer, signal);
    }
  }
}

/** Ids to text to ids, and whether that was the last time. */
async function pass(drafts: readonly Draft[], tokenizer: Tokenizer, signal?: AbortSignal): Promise<void> {
  const texts = await tokenizer.decode(
    drafts.map(({ ids }) => ids),
    signal,
  );
  const encoded = await tokenizer.encode(texts, signal);
  for (const [i, draft] of drafts.entries()) {
    draft.text = texts[i] as string;
    draft.ids = encoded[i] as readonly number[];
    draft.done = draft.roundsLeft === 0 || draft.ids.length === draft.target;
  }
}

function mend(draft: Draft, { vocabSize }: Tokenizer, random: Random): void {
  const missing = draft.target - draft.ids.length;
  draft.ids =
    missing > 0 ? [...draft.ids, ...random.integers(0, vocabSize, missing)] : draft.ids.slice(0, draft.target);
  draft.roundsLeft--;
}
