import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { Dataset } from '../../src/datasets/dataset.ts';
import { promptsHash } from '../../src/datasets/hash.ts';
import { random } from '../../src/datasets/random.ts';
import { sharegpt } from '../../src/datasets/sharegpt.ts';
import type { Compat } from '../../src/records/compat.ts';
import type { RequestSpec } from '../../src/records/request.ts';
import { workloadOptions } from '../../src/records/workload.ts';
import { making } from '../contracts/dataset.ts';
import { qwen3Tokenizer } from './qwen3.ts';

const fixture = (name: string): URL => new URL(`../fixtures/datasets/${name}.json`, import.meta.url);
const read = <T>(name: string): T => JSON.parse(readFileSync(fixture(name), 'utf8'));

type Row = readonly [promptTokens: number, outputTokens: number, sha256: string];
interface Totals {
  readonly seed: number;
  readonly num_prompts: number;
  readonly total_input: number;
  readonly total_output: number;
  readonly requests: readonly Row[];
}
interface RandomCase extends Totals {
  readonly input_len: number;
  readonly output_len: number;
  readonly range_ratio: number;
  readonly prefix_len: number;
  readonly sha256_of_all_prompts: string;
  readonly first_prompt?: string;
}
interface ShareGptCase extends Totals {
  readonly sharegpt_output_len: number | null;
  readonly returned: number;
}

/** Which file tells what each way must give. The slower ones of these cases are those of `tools/parity/datasets.mjs`. */
const origins: readonly (readonly [Compat, random: string, sharegpt: string])[] = [
  ['vllm-0.11.0', 'random-v0.11.0', 'sharegpt-v0.11.0'],
  ['vllm-0.11.1', 'random-v0.11.1', 'sharegpt-2026-08-17'],
  ['vllm-2026-08', 'random-2026-08-17', 'sharegpt-2026-08-17'],
  ['servetune', 'random-2026-08-17', 'sharegpt-2026-08-17'],
];
const mostTokens = 130_000;

const tokenizer = await qwen3Tokenizer();
afterAll(() => tokenizer.close?.());

const make = async (dataset: Dataset, options: Record<string, unknown>, count: number) =>
  (await dataset.make(workloadOptions.parse(options), count, making(tokenizer))).requests;
const rowOf = ({ prompt, promptTokens, outputTokens }: RequestSpec): Row => [
  promptTokens,
  outputTokens,
  createHash('sha256').update(prompt).digest('hex'),
];
const totalsOf = (requests: readonly RequestSpec[]) => ({
  total_input: requests.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
  total_output: requests.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
});

it('reads the tokenizer that the prompts were made with', () => {
  expect(read<{ tokenizer: string }>('random-v0.11.0').tokenizer).toContain(tokenizer.fingerprint);
});

describe.each(origins)('%s', (compat, randomFile, shareGptFile) => {
  const cases = read<{ cases: readonly RandomCase[] }>(randomFile).cases.filter(
    ({ input_len, prefix_len, num_prompts }) => (input_len + prefix_len) * num_prompts <= mostTokens,
  );

  it.each(cases)('random $input_len + $prefix_len, ratio $range_ratio, seed $seed', async (c) => {
    const requests = await make(
      random,
      {
        compat,
        seed: c.seed,
        random_input_len: c.input_len,
        random_output_len: c.output_len,
        random_range_ratio: c.range_ratio,
        random_prefix_len: c.prefix_len,
      },
      c.num_prompts,
    );
    expect(totalsOf(requests)).toEqual({ total_input: c.total_input, total_output: c.total_output });
    if (c.first_prompt !== undefined) expect(requests[0]?.prompt).toBe(c.first_prompt);
    expect(requests.slice(0, c.requests.length).map(rowOf)).toEqual(c.requests);
    expect(promptsHash(requests)).toBe(c.sha256_of_all_prompts);
  });

  it.each(read<{ cases: readonly ShareGptCase[] }>(shareGptFile).cases)(
    'sharegpt, $num_prompts prompts, output $sharegpt_output_len',
    async (c) => {
      const requests = await make(
        sharegpt,
        {
          compat,
          seed: c.seed,
          dataset_name: 'sharegpt',
          dataset_path: fileURLToPath(fixture('sharegpt-synthetic')),
          ...(c.sharegpt_output_len !== null && { sharegpt_output_len: c.sharegpt_output_len }),
        },
        c.num_prompts,
      );
      expect(requests).toHaveLength(c.returned);
      expect(requests.map(rowOf)).toEqual(c.requests);
      expect(totalsOf(requests)).toEqual({ total_input: c.total_input, total_output: c.total_output });
    },
  );
});
