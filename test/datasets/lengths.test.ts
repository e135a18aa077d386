import { expect, it } from 'vitest';
import { burstgpt } from '../../src/datasets/burstgpt.ts';
import type { Dataset } from '../../src/datasets/dataset.ts';
import { prefixRepetition } from '../../src/datasets/prefix-repetition.ts';
import { random } from '../../src/datasets/random.ts';
import { sharegpt } from '../../src/datasets/sharegpt.ts';
import { timedTrace } from '../../src/datasets/timed-trace.ts';
import { workloadOptions } from '../../src/records/workload.ts';
import { fixture } from './files.ts';
import { qwen3Tokenizer } from './qwen3.ts';

const { signal } = new AbortController();
const making = { signal, cacheDir: '/nowhere' };

/** Tokens with which a prompt begins as the earlier one does that has most of them in common with it. */
function sharedWithEarlier(prompts: readonly (readonly number[])[], i: number): number {
  const own = prompts[i] as readonly number[];
  const common = (other: readonly number[]): number => {
    let n = 0;
    while (n < own.length && own[n] === other[n]) n++;
    return n;
  };
  return Math.max(0, ...prompts.slice(0, i).map(common));
}

const cases: readonly [string, Dataset, Record<string, unknown>, number][] = [
  ['random', random, { random_input_len: 40, random_output_len: 20, random_range_ratio: 0.5, seed: 7 }, 40],
  ['random with a prefix', random, { random_input_len: 20, random_prefix_len: 48, seed: 3 }, 12],
  ['random of vLLM 0.11.1', random, { random_input_len: 30, random_output_len: 9, compat: 'vllm-0.11.1' }, 20],
  ['the stand-in of sharegpt', sharegpt, { seed: 5 }, 60],
  ['the stand-in with a fixed answer', sharegpt, { sharegpt_output_len: 12, disable_shuffle: true }, 30],
  [
    'prefix_repetition',
    prefixRepetition,
    {
      prefix_repetition_prefix_len: 32,
      prefix_repetition_suffix_len: 16,
      prefix_repetition_num_prefixes: 3,
      prefix_repetition_output_len: 8,
      seed: 2,
    },
    20,
  ],
  ['burstgpt', burstgpt, { dataset_path: fixture('burst.csv'), seed: 1 }, 30],
  ['timed_trace', timedTrace, { dataset_path: fixture('trace.jsonl'), timed_trace_sec_multiplier: 0.001 }, 8],
];

it.each(cases)('tells the lengths of %s without making texts', async (_, dataset, given, count) => {
  const tokenizer = await qwen3Tokenizer();
  const options = workloadOptions.parse({ dataset_name: dataset.name, num_prompts: count, ...given });
  const made = await dataset.make(options, count, { ...making, tokenizer, serverTemplates: true });
  const lengths = await dataset.lengths?.(options, count, making);
  expect(Array.from(lengths?.outputTokens ?? [])).toEqual(made.requests.map((r) => r.outputTokens));
  expect(Array.from(lengths?.promptTokens ?? [])).toEqual(made.requests.map((r) => r.promptTokens));
  expect(lengths?.dueS && Array.from(lengths.dueS)).toEqual(
    made.requests[0]?.dueS === undefined ? undefined : made.requests.map((r) => r.dueS),
  );
  if (lengths?.sharedTokens === undefined) return;
  const prompts = await tokenizer.encode(made.requests.map(({ prompt }) => prompt));
  prompts.forEach((prompt, i) => {
    const told = lengths.sharedTokens?.[i] ?? 0;
    const shared = sharedWithEarlier(prompts, i);
    // Prompts may have a few tokens more in common by chance, and texts join at the end of a prefix.
    expect(Math.abs(shared - told), `prompt ${i} of ${prompt.length}`).toBeLessThanOrEqual(3);
  });
});

it('leaves the lengths of texts in a file to a tokenizer', async () => {
  const options = workloadOptions.parse({ dataset_name: 'sharegpt', dataset_path: fixture('sharegpt-synthetic.json') });
  expect(await sharegpt.lengths?.(options, 5, making)).toBeNull();
});
