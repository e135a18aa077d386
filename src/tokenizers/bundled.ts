import { fileURLToPath } from 'node:url';
import { nativeTokenizer } from './native.ts';
import { portableTokenizer } from './portable.ts';
import type { Tokenizer } from './tokenizer.ts';

/** The name under which the built-in model, and so its vocabulary, is known. */
export const bundledModel = 'tiny-qwen3';

const loading = new Map<'portable' | 'native', Promise<Tokenizer>>();

/**
 * The vocabulary that comes with this package: the first 8189 tokens of Qwen3's. Read once. In JavaScript unless told
 * otherwise, which takes no longer for it.
 */
export function bundledTokenizer(engine: 'portable' | 'native' = 'portable'): Promise<Tokenizer> {
  // The same distance from `src/` and from `dist/`.
  const path = fileURLToPath(new URL(`../../assets/${bundledModel}/tokenizer.json`, import.meta.url));
  let tokenizer = loading.get(engine);
  if (!tokenizer) {
    const read = engine === 'native' ? nativeTokenizer(path) : portableTokenizer(path);
    tokenizer = read.then((one) => ({ ...one, name: `${bundledModel} (built in)` }));
    loading.set(engine, tokenizer);
  }
  return tokenizer;
}
