import { fileURLToPath } from 'node:url';
import { portableTokenizer } from './portable.ts';
import type { Tokenizer } from './tokenizer.ts';

/** The name under which the built-in model, and so its vocabulary, is known. */
export const bundledModel = 'tiny-qwen3';

let loading: Promise<Tokenizer> | undefined;

/** The vocabulary that comes with this package: the first 8189 tokens of Qwen3's. Read once. */
export function bundledTokenizer(): Promise<Tokenizer> {
  // The same distance from `src/` and from `dist/`.
  const path = fileURLToPath(new URL(`../../assets/${bundledModel}/tokenizer.json`, import.meta.url));
  loading ??= portableTokenizer(path).then((tokenizer) => ({ ...tokenizer, name: `${bundledModel} (built in)` }));
  return loading;
}
