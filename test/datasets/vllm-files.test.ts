import { describe, expect, it } from 'vitest';
import { burstgpt } from '../../src/datasets/burstgpt.ts';
import { custom } from '../../src/datasets/custom.ts';
import type { Dataset, Making } from '../../src/datasets/dataset.ts';
import { hf } from '../../src/datasets/hf.ts';
import { prefixRepetition } from '../../src/datasets/prefix-repetition.ts';
import { sonnet } from '../../src/datasets/sonnet.ts';
import { compatOf, fixture, made, type Version, versions, vllm } from './files.ts';

const poem = {
  dataset_path: fixture('poem.txt'),
  seed: 11,
  sonnet_input_len: 160,
  sonnet_output_len: 20,
  sonnet_prefix_len: 60,
};
const hub = (file: string, name: string) => ({ dataset_path: fixture(file), hf_name: name, seed: 4 });
const sharegptOnHub = hub('conversations.jsonl', 'Aeala/ShareGPT_Vicuna_unfiltered');
const prefixes = { seed: 9, prefix_repetition_output_len: 7 };

interface Case {
  readonly name: string;
  readonly dataset: Dataset;
  readonly options: Record<string, unknown>;
  readonly count: number;
  readonly changes?: Partial<Making>;
  readonly only?: readonly Version[];
}

const cases: readonly Case[] = [
  { name: 'sonnet-formatted', dataset: sonnet, options: poem, count: 6 },
  { name: 'sonnet-plain', dataset: sonnet, options: poem, count: 6, changes: { serverTemplates: true } },
  {
    name: 'custom',
    dataset: custom,
    options: { dataset_path: fixture('custom.jsonl'), seed: 3, custom_output_len: 32 },
    count: 16,
  },
  {
    name: 'custom-rows',
    dataset: custom,
    options: { dataset_path: fixture('custom.jsonl'), seed: 3, custom_output_len: -1, skip_chat_template: true },
    count: 5,
    only: ['2026-08'],
  },
  { name: 'burst', dataset: burstgpt, options: { dataset_path: fixture('burst.csv'), seed: 5 }, count: 9 },
  { name: 'burst-more', dataset: burstgpt, options: { dataset_path: fixture('burst.csv'), seed: 5 }, count: 60 },
  {
    name: 'prefix',
    dataset: prefixRepetition,
    options: {
      ...prefixes,
      prefix_repetition_prefix_len: 20,
      prefix_repetition_suffix_len: 30,
      prefix_repetition_num_prefixes: 4,
    },
    count: 14,
  },
  {
    name: 'prefix-short',
    dataset: prefixRepetition,
    options: {
      ...prefixes,
      seed: 4,
      prefix_repetition_prefix_len: 4,
      prefix_repetition_suffix_len: 6,
      prefix_repetition_num_prefixes: 5,
    },
    count: 42,
  },
  { name: 'hf-conversations', dataset: hf, options: sharegptOnHub, count: 14 },
  { name: 'hf-conversations-fixed', dataset: hf, options: { ...sharegptOnHub, hf_output_len: 9 }, count: 14 },
  { name: 'hf-questions', dataset: hf, options: hub('questions.jsonl', 'openai/gsm8k'), count: 14, only: ['2026-08'] },
  { name: 'hf-instructions', dataset: hf, options: hub('instructions.jsonl', 'likaixin/InstructCoder'), count: 14 },
  {
    name: 'hf-system-prompts',
    dataset: hf,
    options: hub('system-prompts.jsonl', 'mgoin/mlperf-inference-llama2-data'),
    count: 14,
  },
];

describe.each(versions)('as vLLM %s', (version) => {
  it.each(cases.filter(({ only = versions }) => only.includes(version)))('$name', async (one) => {
    const { dataset, options, count, changes, name } = one;
    const { requests } = await made(dataset, { ...options, compat: compatOf(version) }, count, changes);
    const wanted = vllm(version, name);
    expect(requests).toMatchObject(wanted);
    expect(requests).toHaveLength(wanted.length);
  });
});

const unchanged = cases.filter(({ name }) => !/^(burst|prefix)/.test(name));
it.each(unchanged)('with its faults mended, $name is otherwise as the newest vLLM', async (one) => {
  const { dataset, options, count, changes, name } = one;
  const { requests } = await made(dataset, options, count, changes);
  expect(requests.map(({ prompt }) => prompt)).toEqual(vllm('2026-08', name).map(({ prompt }) => prompt));
});
