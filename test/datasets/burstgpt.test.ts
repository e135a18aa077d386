import { expect, it } from 'vitest';
import { burstgpt } from '../../src/datasets/burstgpt.ts';
import { chatty, fileOf, fixture, made, problemsOf } from './files.ts';

const header = 'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n';
const csv = (...rows: readonly string[]): string =>
  fileOf(header + rows.map((row) => `${row}\n`).join(''), 'burst.csv');
const inOrder = { disable_shuffle: true };

it('makes prompts of exactly the lengths recorded', async () => {
  const { requests } = await made(burstgpt, { dataset_path: fixture('burst.csv') }, 200);
  const lengths = (await chatty.encode(requests.map(({ prompt }) => prompt))).map((ids) => ids.length);
  expect(requests.map(({ promptTokens }) => promptTokens)).toEqual(lengths);
  expect(requests.some(({ prompt }) => prompt.startsWith('\ufffd'))).toBe(false);
});

it('takes answered requests to GPT-4 and counts the others', async () => {
  const path = csv(
    '1,GPT-4,10,20,30,API log',
    '2,ChatGPT,10,20,30,API log',
    '3,GPT-4,10,0,10,API log',
    '4,"GPT-4",7.0,5,12,"Conversation, log"',
    '5,GPT-4,,5,5,API log',
    '6,GPT-4,0,9,9,API log',
  );
  const { requests, notes } = await made(burstgpt, { dataset_path: path, ...inOrder }, 3);
  expect(requests.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens])).toEqual([
    [10, 20],
    [7, 5],
    [1, 9],
  ]);
  expect(notes).toEqual([
    '3 of the 6 lines read were left out: 1 of another model than GPT-4 (line 3), 1 without an answer (line 4), ' +
      '1 without a number of tokens (line 6).',
    '1 rows record a prompt of 0 tokens; a request made of one has 1.',
  ]);
});

it('knows columns by their names', async () => {
  const path = fileOf('Session ID,Response tokens,Model,Request tokens\n9,4,GPT-4,6\n');
  const { requests } = await made(burstgpt, { dataset_path: path }, 1);
  expect(requests[0]).toMatchObject({ promptTokens: 6, outputTokens: 4 });
});

it('uses lengths again, or not, as asked', async () => {
  const options = { dataset_path: csv('1,GPT-4,10,20,30,x', '2,GPT-4,12,22,34,x') };
  const more = await made(burstgpt, options, 9);
  expect([more.requests.length, more.notes]).toEqual([9, [expect.stringContaining('more than once')]]);
  const fewer = await made(burstgpt, { ...options, no_oversample: true }, 9);
  expect([fewer.requests.length, fewer.notes]).toEqual([2, [expect.stringContaining('only 2 of the 9')]]);
});

it.each([
  ['without the columns', fileOf('a,b\n1,2\n'), 'no column "Model", "Request tokens", "Response tokens"'],
  ['of JSON', fileOf('{"prompt": "a"}\n'), 'no column'],
  ['without a row of GPT-4', csv('1,ChatGPT,10,20,30,x'), 'no row that can be used'],
  ['with only a header', csv(), 'no row that can be used'],
])('refuses a file %s', async (_, dataset_path, message) => {
  expect(await problemsOf(made(burstgpt, { dataset_path }, 1))).toMatchObject([
    { place: '--dataset-path', message: expect.stringContaining(message), hint: expect.stringContaining('CSV') },
  ]);
});
