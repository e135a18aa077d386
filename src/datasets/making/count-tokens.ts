import type { WorkloadOptions } from '../../records/workload.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import type { Making } from '../dataset.ts';

/** A surrogate without its other half: it has no UTF-8, so no server gets it as it stands. */
const broken = /\p{Surrogate}/u;

export const hasBrokenCharacter = (text: string): boolean => broken.test(text);

/** Tokens of each text, the special ones that the tokenizer adds by itself included; 0 without a tokenizer. */
export async function countTokens(
  texts: readonly string[],
  tokenizer: Tokenizer | null,
  signal: AbortSignal,
): Promise<readonly number[]> {
  if (!tokenizer) return texts.map(() => 0);
  const encoded = await tokenizer.encode(texts, signal);
  return encoded.map((ids) => ids.length + tokenizer.specialTokenCount);
}

/**
 * Special tokens that a completions endpoint puts in front of a prompt of drawn ids; in a chat they belong to the
 * template. vLLM leaves them out of its counts.
 */
export const addedByServer = (
  { compat }: Pick<WorkloadOptions, 'compat'>,
  { tokenizer, serverTemplates }: Pick<Making, 'tokenizer' | 'serverTemplates'>,
): number => (compat === 'servetune' && !serverTemplates ? (tokenizer?.specialTokenCount ?? 0) : 0);
