import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ServetuneError } from '../../../kit/errors.ts';

/** The tokenizer of the model that needs no download: a Hugging Face tokenizer.json, part of the package. */
export const tinyTokenizerPath = fileURLToPath(
  new URL('../../../../assets/tiny-qwen3/tokenizer.json', import.meta.url),
);

/** A byte-level BPE as GGUF files hold it: everything by token id. */
export interface Vocabulary {
  /** The text of each token, in the byte-level alphabet. */
  readonly tokens: readonly string[];
  /** Per token 1 (normal) or 3 (control): llama.cpp's `enum llama_token_type`. */
  readonly types: readonly number[];
  /** `left right`, the most important first. */
  readonly merges: readonly string[];
}

interface TokenizerFile {
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[];
  readonly model: {
    readonly vocab: Readonly<Record<string, number>>;
    readonly merges: readonly (readonly [string, string])[];
  };
}

/** Reads the vocabulary of the bundled tokenizer. Throws a ServetuneError when the installation lacks it. */
export function readVocabulary(): Vocabulary {
  let file: TokenizerFile;
  try {
    file = JSON.parse(readFileSync(tinyTokenizerPath, 'utf8')) as TokenizerFile;
  } catch (cause) {
    throw new ServetuneError('broken_installation', `cannot read ${tinyTokenizerPath}`, {
      hint: 'install servetune again',
      cause,
    });
  }
  const tokens: string[] = [];
  const types: number[] = [];
  for (const [token, id] of Object.entries(file.model.vocab)) {
    tokens[id] = token;
    types[id] = 1;
  }
  for (const { content, id } of file.added_tokens) {
    tokens[id] = content;
    types[id] = 3;
  }
  return { tokens, types, merges: file.model.merges.map(([left, right]) => `${left} ${right}`) };
}
