import { describe, expect, it } from 'vitest';
import { wordTokens } from '../../src/datasets/making/word-tokens.ts';
import { timedTrace } from '../../src/datasets/timed-trace.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';
import { chatty, fileOf, fixture, jsonl, made, problemsOf } from './files.ts';
import { qwen3Tokenizer } from './qwen3.ts';

const options = { dataset_path: fixture('trace.jsonl'), timed_trace_sec_multiplier: 0.001 };
const lengths = [40, 48, 20, 64, 33, 70, 16, 5];
const { signal } = new AbortController();

/** One id a token, as text `id,id,...`: it has no words. */
const wordless: Tokenizer = {
  ...chatty,
  vocabSize: 5000,
  encode: async (texts) => texts.map((text) => text.split(',').map(Number)),
  decode: async (lists) => lists.map((list) => list.join()),
};

const common = (a: readonly number[], b: readonly number[]): number => {
  let n = 0;
  while (n < a.length && a[n] === b[n]) n++;
  return n;
};

it('replays the times of the trace from its first request on', async () => {
  const { requests, notes } = await made(timedTrace, options, 8);
  expect(requests.map(({ dueS }) => dueS?.toFixed(3))).toEqual(
    [0, 0.25, 0.25, 1.1, 1.9, 2.4, 2.4, 3].map((s) => s.toFixed(3)),
  );
  expect(requests.map(({ outputTokens }) => outputTokens)).toEqual([6, 9, 4, 12, 2, 30, 1, 7]);
  expect(notes).toEqual([]);
});

it('leaves the times to the request rate when told to', async () => {
  const { requests } = await made(timedTrace, { ...options, self_timed: false }, 8);
  expect(requests.every((request) => !('dueS' in request))).toBe(true);
});

describe.each([
  ['the built-in vocabulary', async () => chatty],
  ['Qwen3', qwen3Tokenizer],
  ['a tokenizer without words', async () => wordless],
])('with %s', async (_, load) => {
  const tokenizer = await load();
  const { requests } = await made(timedTrace, options, 8, { tokenizer });
  const ids = await tokenizer.encode(requests.map(({ prompt }) => prompt));

  it('prompts have exactly the lengths recorded', () => {
    expect(ids.map((list) => list.length)).toEqual(lengths);
    expect(requests.map(({ promptTokens }) => promptTokens)).toEqual(lengths);
  });

  it('equal hash ids give equal tokens, and nothing else is alike', () => {
    const between = (a: number, b: number) => common(ids[a] ?? [], ids[b] ?? []);
    expect([between(0, 1), between(0, 2), between(1, 3), between(4, 5)]).toEqual([32, 16, 48, 32]);
    expect([between(0, 4), between(4, 6), between(6, 7)].every((n) => n < 3)).toBe(true);
  });
});

it('has words in real vocabularies, and knows where there are none', async () => {
  expect((await wordTokens(await qwen3Tokenizer(), signal))?.length).toBeGreaterThan(500);
  expect(await wordTokens(wordless, signal)).toBeNull();
  const joining: Tokenizer = {
    ...chatty,
    encode: async (texts, stop) =>
      (await chatty.encode(texts, stop)).map((list) => (list.length > 1 ? list.slice(1) : list)),
  };
  expect(await wordTokens(joining, signal)).toBeNull();
});

it('leaves room for the special tokens that the tokenizer adds', async () => {
  const { requests } = await made(timedTrace, options, 8, { tokenizer: { ...chatty, specialTokenCount: 1 } });
  const ids = await chatty.encode(requests.map(({ prompt }) => prompt));
  expect(ids.map((list) => list.length + 1)).toEqual(lengths);
});

it('sorts rows by time, of as many as were asked for', async () => {
  const row = (timestamp: number, input_length: number) => ({
    timestamp,
    input_length,
    output_length: 1,
    hash_ids: [1],
  });
  const path = fileOf(jsonl(row(9, 3), row(4, 5), row(4, 6), row(1, 7)));
  const { requests, notes } = await made(timedTrace, { dataset_path: path }, 3);
  expect(requests.map(({ dueS, promptTokens }) => [dueS, promptTokens])).toEqual([
    [0, 5],
    [0, 6],
    [5, 3],
  ]);
  expect(notes).toEqual([expect.stringContaining('sorted')]);
});

it('reads other keys, and says which are missing', async () => {
  const path = fileOf(jsonl({ t: '1.5', in: 20, out: 3, blocks: ['a', 'b'] }, { t: 3, in: 12, out: 4, blocks: ['a'] }));
  const labels = {
    timed_trace_label_timestamp: 't',
    timed_trace_label_input_length: 'in',
    timed_trace_label_output_length: 'out',
    timed_trace_label_hash_ids: 'blocks',
  };
  const { requests } = await made(timedTrace, { dataset_path: path, ...labels }, 2);
  expect(requests.map(({ dueS, promptTokens }) => [dueS, promptTokens])).toEqual([
    [0, 20],
    [1.5, 12],
  ]);
  expect(await problemsOf(made(timedTrace, { dataset_path: path, timed_trace_label_timestamp: 't' }, 2))).toMatchObject(
    [
      { place: '--timed-trace-label-input-length', hint: expect.stringContaining('t, in, out, blocks') },
      { place: '--timed-trace-label-output-length' },
    ],
  );
});

it('counts rows that it cannot use', async () => {
  const good = { timestamp: 1, input_length: 4, output_length: 2 };
  const rows = [good, { ...good, timestamp: null }, { ...good, input_length: 0 }, { ...good, output_length: -1 }];
  const path = fileOf(`${jsonl(...rows, { ...good, hash_ids: 7 })}{"timestamp": 3,\n`);
  const { requests, notes } = await made(timedTrace, { dataset_path: path }, 9);
  expect(requests).toHaveLength(1);
  expect(notes.join(' ')).toMatch(/5 of the 6 lines.*line 2.*line 3.*line 4.*line 5.*line 6/);
  expect(notes.join(' ')).toMatch(/no hash_ids.*only 1 of the 9/);
});

it('suspects milliseconds that are taken for seconds', async () => {
  const row = { input_length: 4, output_length: 2, hash_ids: [1] };
  const path = fileOf(jsonl({ ...row, timestamp: 0 }, { ...row, timestamp: 3_600_000 }));
  expect((await made(timedTrace, { dataset_path: path }, 2)).notes).toEqual([
    expect.stringContaining('--timed-trace-sec-multiplier 0.001'),
  ]);
});
