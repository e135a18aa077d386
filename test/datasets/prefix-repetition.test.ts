import { expect, it } from 'vitest';
import { prefixRepetition } from '../../src/datasets/prefix-repetition.ts';
import { chatty, compatOf, made, problemsOf, versions } from './files.ts';

const options = {
  prefix_repetition_prefix_len: 40,
  prefix_repetition_suffix_len: 25,
  prefix_repetition_num_prefixes: 4,
  prefix_repetition_output_len: 11,
};

it('makes prompts of exactly the length of both parts', async () => {
  const { requests, notes } = await made(prefixRepetition, options, 90);
  const lengths = (await chatty.encode(requests.map(({ prompt }) => prompt))).map((ids) => ids.length);
  expect(new Set(lengths)).toEqual(new Set([65]));
  expect(requests.every((r) => r.promptTokens === 65 && r.outputTokens === 11)).toBe(true);
  expect(notes).toEqual([]);
});

it('shares each prefix among as many prompts, the rest of the count among the first', async () => {
  const { requests } = await made(prefixRepetition, options, 30);
  expect(requests).toHaveLength(30);
  const ids = await chatty.encode(requests.map(({ prompt }) => prompt));
  const shares = new Map<string, number>();
  for (const list of ids) {
    const beginning = list.slice(0, 30).join();
    shares.set(beginning, (shares.get(beginning) ?? 0) + 1);
  }
  expect([...shares.values()].sort()).toEqual([7, 7, 8, 8]);
});

it('keeps them together when nothing is shuffled', async () => {
  const { requests } = await made(prefixRepetition, { ...options, disable_shuffle: true }, 8);
  const ids = await chatty.encode(requests.map(({ prompt }) => prompt));
  const beginnings = ids.map((list) => list.slice(0, 30).join());
  expect(beginnings.map((one) => beginnings.indexOf(one))).toEqual([0, 0, 2, 2, 4, 4, 6, 6]);
});

it.each(versions)('says how many prompts vLLM %s leaves out', async (version) => {
  const { requests, notes } = await made(prefixRepetition, { ...options, compat: compatOf(version) }, 30);
  expect(requests).toHaveLength(28);
  expect(notes).toEqual([expect.stringContaining('Only 28 of 30')]);
});

it('refuses more prefixes than prompts', async () => {
  expect(await problemsOf(made(prefixRepetition, options, 3))).toMatchObject([
    { place: '--prefix-repetition-num-prefixes', hint: expect.stringContaining('at most 3') },
  ]);
});

it('does without a prefix', async () => {
  const { requests } = await made(prefixRepetition, { ...options, prefix_repetition_prefix_len: 0 }, 8);
  expect(requests.every(({ promptTokens }) => promptTokens === 25)).toBe(true);
});

it('keeps special tokens of the vocabulary out of prompts', async () => {
  const specialIds = Array.from({ length: 4000 }, (_, i) => i + 2000);
  const { requests } = await made(prefixRepetition, options, 20, { tokenizer: { ...chatty, specialIds } });
  const plain = await made(prefixRepetition, options, 20);
  expect(requests.map(({ prompt }) => prompt)).not.toEqual(plain.requests.map(({ prompt }) => prompt));
  expect(requests.every(({ promptTokens }) => promptTokens === 65)).toBe(true);
});

it('ends also where texts encode to nothing', async () => {
  const tokenizer = { ...chatty, encode: async (texts: readonly string[]) => texts.map(() => []) };
  for (const compat of ['servetune', 'vllm-0.11.0', 'vllm-0.11.1']) {
    const { requests } = await made(prefixRepetition, { ...options, compat }, 4, { tokenizer });
    expect(requests).toHaveLength(4);
  }
});
