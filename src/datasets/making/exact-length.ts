import type { Random } from '../../kit/random.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';

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
  random: Pick<Random, 'integers'>,
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

/**
 * Shortens settled drafts that are longer than they shall be because their text always encodes to more tokens than it
 * was made of: keeps the share that would have come out right, at most ten times. Nothing is drawn. What is still too long
 * then stays so.
 */
export async function shortenDrafts(
  drafts: readonly Draft[],
  tokenizer: Tokenizer,
  signal?: AbortSignal,
): Promise<void> {
  let long = drafts.filter(isLong).map((draft) => ({ draft, keep: draft.target }));
  for (let round = 0; round < rounds && long.length > 0; round++) {
    for (const one of long) {
      const share = one.draft.target / one.draft.ids.length;
      one.keep = Math.max(1, Math.min(one.keep - 1, Math.floor(one.keep * share)));
      one.draft.ids = one.draft.ids.slice(0, one.keep);
    }
    await pass(
      long.map(({ draft }) => draft),
      tokenizer,
      signal,
    );
    long = long.filter(({ draft }) => isLong(draft));
  }
}

const isLong = ({ ids, target }: Draft): boolean => ids.length > target;

/**
 * Brings drafts to at most their length in one go, as `vllm bench serve` did up to v0.11.0: the ids of their text, cut
 * off. The text that is left is not encoded once more, so its count of tokens can be another where it was cut within a
 * character.
 */
export async function truncateDrafts(
  drafts: readonly Draft[],
  tokenizer: Tokenizer,
  signal?: AbortSignal,
): Promise<void> {
  await pass(drafts, tokenizer, signal);
  for (const draft of drafts) draft.ids = draft.ids.slice(0, draft.target);
  const texts = await tokenizer.decode(
    drafts.map(({ ids }) => ids),
    signal,
  );
  for (const [i, draft] of drafts.entries()) draft.text = texts[i] as string;
}

/** What to say of lengths that came out other than asked; null when all did as they should. */
export function lengthNote(lengths: readonly { readonly tokens: number; readonly target: number }[]): string | null {
  const off = lengths.map(({ tokens, target }) => Math.abs(tokens - target)).filter((distance) => distance > 0);
  if (off.length === 0) return null;
  const most = off.reduce((a, b) => Math.max(a, b));
  return (
    `${off.length} of ${lengths.length} prompts have another length than asked, by at most ` +
    `${most} ${most === 1 ? 'token' : 'tokens'}.`
  );
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

function mend(draft: Draft, { vocabSize }: Tokenizer, random: Pick<Random, 'integers'>): void {
  const missing = draft.target - draft.ids.length;
  draft.ids =
    missing > 0 ? [...draft.ids, ...random.integers(0, vocabSize, missing)] : draft.ids.slice(0, draft.target);
  draft.roundsLeft--;
}
