import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError, ServetuneError } from '../../src/kit/errors.ts';
import { noise, type StandInModel } from './hub.ts';

export const commit = '0123456789abcdef0123456789abcdef01234567';
export const signal = new AbortController().signal;
export const emptyFolder = (): string => mkdtempSync(join(tmpdir(), 'servetune-weights-'));

const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'] as const;
const index = { weight_map: { 'a.weight': shards[0], 'b.weight': shards[1] } };

/** A model in two parts, with what belongs to it and what no engine reads. */
export const twoParts: StandInModel = {
  commit,
  files: {
    '.gitattributes': Buffer.from('*.safetensors filter=lfs'),
    'README.md': Buffer.from('# A model'),
    'config.json': Buffer.from('{"model_type": "qwen3"}'),
    'empty.txt': Buffer.alloc(0),
    'model.safetensors.index.json': Buffer.from(JSON.stringify(index)),
    [shards[0]]: noise(300_000, 'one'),
    [shards[1]]: noise(200_000, 'two'),
    'nested/copy.safetensors': noise(200_000, 'two'),
    'original/consolidated.00.pth': noise(20_000, 'original'),
    'pytorch_model.bin': noise(20_000, 'torch'),
    'tokenizer.json': noise(50_000, 'tokenizer'),
  },
};
export const neededOfTwoParts = [
  'README.md',
  'config.json',
  'empty.txt',
  'model.safetensors.index.json',
  'tokenizer.json',
  ...shards,
  'nested/copy.safetensors',
];
/** The content of one shard lies in two places, and is downloaded once. */
export const bytesOfTwoParts = neededOfTwoParts.reduce((sum, path) => sum + (twoParts.files[path]?.byteLength ?? 0), 0);

/** All that a failure says, whatever kind it is; every one is the user's to mend. */
export async function wordsOf(failing: Promise<unknown>): Promise<string> {
  const error = await failing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof InputError) {
    return error.problems.map(({ place, message, hint }) => `${place}: ${message}; ${hint}`).join('\n');
  }
  if (error instanceof ServetuneError && error.exitCode === 2) return `${error.code}: ${error.message}; ${error.hint}`;
  throw error ?? new Error('it did not fail');
}
