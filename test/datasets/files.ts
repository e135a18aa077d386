import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dataset, Making } from '../../src/datasets/dataset.ts';
import { InputError, type Problem } from '../../src/kit/errors.ts';
import { workloadOptions } from '../../src/records/workload.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';
import { making } from '../contracts/dataset.ts';

/** A file of the fixtures. */
export const fixture = (name: string): string => join(import.meta.dirname, '../fixtures/datasets', name);

/** A file with this content, in a folder of its own. */
export function fileOf(content: string | Uint8Array, name = 'rows.jsonl'): string {
  const path = join(mkdtempSync(join(tmpdir(), 'servetune-dataset-')), name);
  writeFileSync(path, content);
  return path;
}

export const jsonl = (...rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** The built-in vocabulary with a chat template of the kind that Qwen's models have. */
export const chatty: Tokenizer = {
  ...(await bundledTokenizer()),
  chatTemplate: {
    render: (messages, options) =>
      messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('') +
      (options?.addGenerationPrompt ? '<|im_start|>assistant\n' : ''),
  },
};

/** For a completions endpoint, unless told otherwise. */
export const made = (
  dataset: Dataset,
  options: Record<string, unknown>,
  count: number,
  changes: Partial<Making> = {},
) =>
  dataset.make(
    workloadOptions.parse({ ...options, dataset_name: dataset.name }),
    count,
    making(chatty, { serverTemplates: false, ...changes }),
  );

/** What was wrong with the input. */
export async function problemsOf(promise: Promise<unknown>): Promise<readonly Problem[]> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof InputError)) throw error ?? new Error('nothing was thrown');
  return error.problems;
}

interface Expected {
  readonly prompt?: string;
  readonly promptTokens: number;
  readonly outputTokens: number;
}
type Cases = Readonly<Record<string, readonly Expected[]>>;
export type Version = 'v0.11.0' | 'v0.11.1' | '2026-08';

const file = JSON.parse(readFileSync(fixture('vllm-files.json'), 'utf8')) as {
  readonly vllm: Readonly<Record<Version | 'all', Cases>>;
  readonly order: Readonly<Record<string, Record<'stream' | 'memory', { first: number[]; last: number[] }>>>;
};
export const { order } = file;

/** What vLLM's own code made of the fixtures, by version and case. */
export const vllm = (version: Version, name: string): readonly Expected[] => {
  const found = file.vllm[version][name] ?? file.vllm.all[name];
  if (!found) throw new Error(`${version} has no case ${name}`);
  return found;
};
export const versions: readonly Version[] = ['v0.11.0', 'v0.11.1', '2026-08'];
export const compatOf = (version: Version): string => `vllm-${version.replace(/^v/, '')}`;
