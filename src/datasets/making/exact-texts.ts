import { createRandom } from '../../kit/random.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import type { Making } from '../dataset.ts';
import { draftOf, lengthNote, settleLengths, shortenDrafts } from './exact-length.ts';

/** Prompts that are worked on together. */
const batch = 256;

export interface ExactText {
  readonly text: string;
  readonly tokens: number;
}

/**
 * Texts that encode to as many tokens as each list has ids, or to `target`: lists whose text does so already keep it,
 * others are cut off or filled up at their end. Fillings come from a generator of their own, so that they change nothing else that is drawn.
 * The note tells of texts that did not settle.
 */
export async function exactTexts(
  lists: readonly (readonly number[])[],
  tokenizer: Tokenizer,
  seed: number,
  { signal, onProgress }: Pick<Making, 'signal' | 'onProgress'>,
  target?: number,
): Promise<{ texts: readonly ExactText[]; notes: readonly string[] }> {
  const random = createRandom(seed);
  const texts: ExactText[] = [];
  for (let from = 0; from < lists.length; from += batch) {
    const drafts = lists.slice(from, from + batch).map((ids) => draftOf(ids, target ?? ids.length));
    await settleLengths(drafts, tokenizer, random, signal);
    await shortenDrafts(drafts, tokenizer, signal);
    for (const { text, ids } of drafts) texts.push({ text, tokens: ids.length });
    onProgress?.(texts.length, lists.length);
  }
  const note = lengthNote(
    texts.map(({ tokens }, i) => ({ tokens, target: target ?? (lists[i] as readonly number[]).length })),
  );
  return { texts, notes: note === null ? [] : [note] };
}

/** Ids with special tokens replaced by the next id that is none: a server would read them as such. */
export function withoutSpecials(ids: readonly number[], { specialIds, vocabSize }: Tokenizer): readonly number[] {
  if (specialIds.length === 0) return ids;
  const special = new Set(specialIds);
  const usable = (id: number): number => (special.has(id) ? usable((id + 1) % vocabSize) : id);
  return ids.map(usable);
}
