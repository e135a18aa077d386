import type { Tokenizer } from '../../tokenizers/tokenizer.ts';

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
