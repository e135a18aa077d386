import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { Making } from '../../src/datasets/dataset.ts';
import { promptsHash } from '../../src/datasets/hash.ts';
import { sharegpt } from '../../src/datasets/sharegpt.ts';
import { InputError } from '../../src/kit/errors.ts';
import { workloadOptions } from '../../src/records/workload.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';
import { making } from '../contracts/dataset.ts';

const folder = mkdtempSync(join(tmpdir(), 'sharegpt-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const fileOf = (content: unknown): string => {
  const path = join(folder, `${files++}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

/** One token a letter; what it was asked to encode is kept. */
const letters = (specialTokenCount = 0) => {
  const encoded: string[] = [];
  const tokenizer: Tokenizer = {
    name: 'letters',
    fingerprint: null,
    chatTemplate: null,
    vocabSize: 100,
    specialIds: [],
    specialTokenCount,
    async encode(texts, signal) {
      signal?.throwIfAborted();
      encoded.push(...texts);
      return texts.map((text) => new Array<number>(text.length).fill(0));
    },
    decode: async (ids) => ids.map((list) => 'x'.repeat(list.length)),
  };
  return { tokenizer, encoded };
};

const turns = (...values: unknown[]) => ({ conversations: values.map((value) => ({ from: 'human', value })) });
const make = (
  rows: unknown,
  changes: Record<string, unknown>,
  count: number,
  at: Making = making(letters().tokenizer),
) =>
  sharegpt.make(workloadOptions.parse({ dataset_name: 'sharegpt', dataset_path: fileOf(rows), ...changes }), count, at);
const inOrder = { disable_shuffle: true, no_oversample: true };

describe('the limits of lengths', () => {
  const [a, b] = ['a', 'b'];
  const text = (length: number, letter = a) => letter.repeat(length);

  it('are those of vLLM, ends included', async () => {
    const rows = [
      turns(text(3), text(9, b)),
      turns(text(4), text(4, b)),
      turns(text(9), text(3, b)),
      turns(text(1024), text(1024, b)),
      turns(text(1024), text(1025, b)),
      turns(text(1025), text(9, b)),
      turns(text(9), text(2039, b)),
    ];
    const { requests, notes } = await make(rows, inOrder, 9);
    expect(requests.map((r) => [r.promptTokens, r.outputTokens])).toEqual([
      [4, 4],
      [1024, 1024],
      [9, 2039],
    ]);
    expect(notes).toEqual([
      '4 of the 7 conversations read were left out: 1 with a prompt of under 4 tokens (conversation 1), ' +
        '1 with an answer of under 4 tokens (conversation 3), 1 with over 2048 tokens in all (conversation 5), ' +
        '1 with a prompt of over 1024 tokens (conversation 6).',
      'The dataset has only 3 of the 9 prompts that were asked for.',
    ]);
  });

  it('do not touch a length of the answer that is given', async () => {
    const rows = [turns(text(9), ''), turns(text(1000), text(2000, b)), turns(text(1024), 'bbbb')];
    const short = await make(rows, { ...inOrder, sharegpt_output_len: 2 }, 9);
    expect(short.requests.map((r) => [r.promptTokens, r.outputTokens])).toEqual([
      [9, 2],
      [1000, 2],
      [1024, 2],
    ]);
    const long = await make(rows, { ...inOrder, sharegpt_output_len: 1040 }, 9);
    expect(long.requests.map((r) => r.promptTokens)).toEqual([9, 1000]);
  });

  it('count the special tokens that the tokenizer adds', async () => {
    const rows = [turns(text(3), text(3, b)), turns(text(1024), text(9, b)), turns(text(1023), text(1023, b))];
    const { requests } = await make(rows, inOrder, 9, making(letters(1).tokenizer));
    expect(requests.map((r) => [r.promptTokens, r.outputTokens, r.prompt.length])).toEqual([
      [4, 4, 3],
      [1024, 1024, 1023],
    ]);
  });
});

it('leaves out rows that cannot be used, and says why (case 45)', async () => {
  const long = 'm'.repeat(1_000_000);
  const rows = [
    { id: 'none' },
    { conversations: null },
    null,
    'conversations',
    { conversations: [] },
    turns('only one turn'),
    {
      conversations: [
        { from: 'gpt', value: 'the assistant first' },
        { from: 'human', value: 'then the user' },
      ],
    },
    turns(null, 'an answer'),
    turns('a prompt', null),
    turns(7, 'an answer'),
    { conversations: [{ from: 'human' }, { from: 'gpt', value: 'an answer' }] },
    { conversations: ['a prompt', 'an answer'] },
    turns('', 'an answer'),
    turns('?', 'an answer'),
    turns(long, 'an answer'),
    turns('a prompt', long),
    turns('\ud800 broken', 'an answer'),
    turns('  as it stands \n', 'an answer', 'a third turn', 'a fourth'),
  ];
  const { requests, notes } = await make(rows, inOrder, 9);
  expect(requests).toEqual([
    { index: 0, prompt: 'the assistant first', promptTokens: 19, outputTokens: 13 },
    { index: 1, prompt: '  as it stands \n', promptTokens: 16, outputTokens: 9 },
  ]);
  expect(notes.slice(0, 2)).toEqual([
    '6 of the 18 rows read were left out: 4 without a list of "conversations" (rows 1, 2, 3, 4), ' +
      '2 with fewer than two turns (rows 5, 6).',
    '10 of the 12 conversations read were left out: 5 with a turn that has no text (conversations 8, 9, 10, 11, 12), ' +
      '2 with a prompt of under 4 tokens (conversations 13, 14), 1 with a prompt of over 1024 tokens (conversation 15), ' +
      '1 with over 2048 tokens in all (conversation 16), 1 with a broken character in the prompt (conversation 17).',
  ]);
});

it.each([
  ['no rows', [], 'give a JSON array of'],
  ['no usable ones', [turns('a', 'b'), turns('one'), {}], 'give a JSON array of'],
])('refuses a file with %s, with the counts (case 45)', async (_, rows, hint) => {
  const error = await make(rows, {}, 3).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(InputError);
  const [problem, ...more] = (error as InputError).problems;
  expect([problem?.place, problem?.message, problem?.hint, more]).toEqual([
    '--dataset-path',
    expect.stringContaining('has no row that can be used.'),
    expect.stringContaining(hint),
    [],
  ]);
  if (rows.length > 0) {
    expect(problem?.message).toContain('2 of the 3 rows read were left out');
    expect(problem?.message).toContain(
      '1 of the 1 conversations read were left out: 1 with a prompt of under 4 tokens',
    );
  }
});

it.each([
  ['is missing', join(folder, 'missing.json'), 'does not exist'],
  ['is a folder', folder, 'is a folder'],
  ['is empty', fileOf(''), 'is empty'],
  ['is cut off', fileOf('[{"conversations": [{"value": "abcd"}, {"value": "ab'), 'ends in the middle of row 1'],
  ['is no array', fileOf({ conversations: [] }), 'does not hold a JSON array'],
])('refuses a file that %s', async (_, dataset_path, message) => {
  await expect(make([], { dataset_path }, 3)).rejects.toThrow(message);
  await expect(make([], { dataset_path }, 3)).rejects.toThrow(InputError);
});

const hundred = Array.from({ length: 100 }, (_, i) => turns(`prompt ${i}`, `answer ${i}`));

describe('rows', () => {
  it('are shuffled by the seed, or not at all', async () => {
    const prompts = async (changes: Record<string, unknown>) =>
      (await make(hundred, changes, 100)).requests.map((r) => r.prompt);
    const all = hundred.map((_, i) => `prompt ${i}`);
    expect(await prompts({ disable_shuffle: true, seed: 3 })).toEqual(all);
    const [one, other] = [await prompts({ seed: 1 }), await prompts({ seed: 2 })];
    expect(one).not.toEqual(other);
    expect([[...one].sort(), [...other].sort()]).toEqual([[...all].sort(), [...all].sort()]);
  });

  it('are repeated where there are too few, and it is said', async () => {
    const { requests, notes } = await make(hundred, {}, 250);
    expect(requests).toHaveLength(250);
    expect(new Set(requests.map((r) => r.prompt)).size).toBe(100);
    expect(notes).toEqual([expect.stringMatching(/^150 of 250 prompts are repeats/)]);
  });

  it('are not tokenised beyond what is needed', async () => {
    const many = Array.from({ length: 5000 }, (_, i) => turns(`prompt ${i}`, `answer ${i}`));
    const { tokenizer, encoded } = letters();
    const told: [number, number][] = [];
    const { requests } = await make(many, {}, 400, making(tokenizer, { onProgress: (...now) => told.push(now) }));
    expect(requests).toHaveLength(400);
    expect(encoded.length).toBeLessThan(2 * 600);
    expect(told).toEqual([
      [256, 400],
      [400, 400],
    ]);
  });
});

it('does not tokenise a text to its end that is too long anyway, but does where it may not be', async () => {
  const { tokenizer: counting, encoded } = letters();
  // A word is one token here, and letters count for nothing: 200,000 letters can be a short text.
  const encode: Tokenizer['encode'] = async (texts, signal) => {
    await counting.encode(texts, signal);
    return texts.map((text) => text.split(' ').map(() => 0));
  };
  const rows = [turns('w '.repeat(500_000), 'a b c d'), turns(`a b c ${'d'.repeat(200_000)}`, 'a b c d')];
  const { requests } = await make(rows, inOrder, 2, making({ ...counting, encode }));
  expect(requests.map((r) => [r.prompt.length, r.promptTokens])).toEqual([[200_006, 4]]);
  expect(Math.max(...encoded.filter((text) => text.startsWith('w')).map((text) => text.length))).toBeLessThan(50_000);
});

it('copes with texts of a million characters in good time', async () => {
  const words = 'word after word, '.repeat(60_000);
  const rows = [
    ...Array.from({ length: 20 }, () => turns(words, words)),
    turns('x'.repeat(1_000_000), 'answer'),
    ...hundred,
  ];
  const { requests } = await make(rows, inOrder, 100, making(await bundledTokenizer()));
  expect(requests).toHaveLength(100);
}, 30_000);

describe('without a path', () => {
  const options = workloadOptions.parse({ dataset_name: 'sharegpt', seed: 4 });

  it('takes the stand-in, and says so', async () => {
    const at = making(await bundledTokenizer());
    const { requests, notes } = await sharegpt.make(options, 50, at);
    expect(requests).toHaveLength(50);
    expect(notes[0]).toContain('synthetic stand-in');
    expect(promptsHash((await sharegpt.make(options, 50, at)).requests)).toBe(promptsHash(requests));
  });

  it('takes the file that was fetched', async () => {
    const cacheDir = join(folder, 'cache');
    const place = join(cacheDir, 'datasets', 'sharegpt');
    const path = join(place, 'ShareGPT_V3_unfiltered_cleaned_split.json');
    const content = JSON.stringify(hundred);
    mkdirSync(place, { recursive: true });
    writeFileSync(path, content);
    const record = { url: 'http://localhost/', bytes: content.length, sha256: '0'.repeat(64), fetchedAt: '2026-01-01' };
    writeFileSync(`${path}.record.json`, JSON.stringify(record));
    const { requests, notes } = await sharegpt.make(options, 20, making(letters().tokenizer, { cacheDir }));
    expect(requests.every(({ prompt }) => /^prompt \d+$/.test(prompt))).toBe(true);
    expect(notes).toEqual([]);
  });
});

it('reads a file as it stands in a fixture with rows of too few turns', async () => {
  const dataset_path = fileURLToPath(new URL('../fixtures/datasets/sharegpt-synthetic.json', import.meta.url));
  const { notes } = await make([], { dataset_path }, 80, making(await bundledTokenizer()));
  expect(notes[0]).toMatch(/^3 of the 60 rows read were left out/);
  expect(notes.at(-1)).toMatch(/^\d+ of 80 prompts are repeats/);
});
