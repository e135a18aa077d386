import { describe, expect, it } from 'vitest';
import { hf } from '../../src/datasets/hf.ts';
import { chatty, fileOf, fixture, jsonl, made, problemsOf } from './files.ts';

const inOrder = { disable_shuffle: true, no_oversample: true, skip_chat_template: true };
const read = async (path: string, changes: Record<string, unknown> = {}) =>
  made(hf, { ...inOrder, dataset_path: path, ...changes }, 20);
const promptsOf = async (path: string, changes: Record<string, unknown> = {}) =>
  (await read(path, changes)).requests.map(({ prompt }) => prompt);
const tokensOf = async (text: string) => (await chatty.encode([text]))[0]?.length;

const answer = 'A long and thoughtful answer of more than four tokens.';
const question = 'What is the tallest tree of the northern forests?';

describe.each([
  ['prompt, completion', { prompt: question, completion: answer }],
  ['prompt, response', { id: 7, prompt: question, response: answer }],
  ['instruction, output', { instruction: question, input: '', output: answer }],
  ['question, answer', { question, answer }],
  ['problem, solution', { problem: question, solution: answer }],
  [
    'conversations',
    {
      conversations: [
        { from: 'human', value: question },
        { from: 'gpt', value: answer },
      ],
    },
  ],
  [
    'messages',
    {
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', content: answer },
      ],
    },
  ],
  [
    'messages in parts',
    {
      messages: [
        { role: 'user', content: [{ type: 'text', text: question }] },
        { role: 'assistant', content: answer },
      ],
    },
  ],
] as const)('rows with %s', (_, row) => {
  it('give the prompt, and the answer its length', async () => {
    const { requests } = await read(fileOf(jsonl(row)));
    expect(requests).toEqual([
      { index: 0, prompt: question, promptTokens: await tokensOf(question), outputTokens: await tokensOf(answer) },
    ]);
  });

  it('give as many tokens as asked where that is said', async () => {
    const { requests } = await read(fileOf(jsonl(row)), { hf_output_len: 77 });
    expect(requests.map(({ outputTokens }) => outputTokens)).toEqual([77]);
  });
});

it('puts what belongs to the prompt together', async () => {
  expect(await promptsOf(fileOf(jsonl({ instruction: 'Sort.', input: '3 1 2', output: '1 2 3' })))).toEqual([
    'Sort.\n\n3 1 2',
  ]);
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello.' },
    { role: 'assistant', content: 'Hi.' },
    { role: 'user', content: 'And now?' },
  ];
  const path = fileOf(jsonl({ messages }));
  expect(await promptsOf(path)).toEqual(['Be brief.\n\nHello.']);
  expect(await promptsOf(path, { skip_chat_template: false })).toEqual([
    '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello.<|im_end|>\n<|im_start|>assistant\n',
  ]);
  expect((await read(fileOf(jsonl({ turns: ['First.', 'Second.'] })))).requests).toMatchObject([
    { prompt: 'First.', outputTokens: 256 },
  ]);
});

describe('a file of the same rows', () => {
  const rows = [1, 2, 3].map((n) => ({ question: `Question, ${n}?`, answer }));
  const expected = rows.map((row) => row.question);
  it.each([
    ['JSONL', jsonl(...rows), 'rows.jsonl'],
    [
      'JSONL with a byte order mark and blank lines',
      `\ufeff\n${jsonl(...rows).replaceAll('\n', '\r\n\r\n')}`,
      'rows.json',
    ],
    ['a JSON array', `\ufeff${JSON.stringify(rows, null, 2)}`, 'rows.json'],
    ['CSV', `question,answer\n${expected.map((q) => `"${q}","${answer}"\n`).join('')}`, 'rows.csv'],
    ['TSV', `answer\tquestion\r\n${expected.map((q) => `${answer}\t${q}\r\n`).join('')}`, 'rows.tsv'],
  ])('is read as %s', async (_, content, name) => {
    expect(await promptsOf(fileOf(content, name))).toEqual(expected);
  });
});

it.each([
  ['Parquet', 'PAR1\0\0PAR1', 'rows.parquet', 'to_json'],
  ['Arrow', 'ARROW1\0\0', 'rows.arrow', 'to_json'],
  ['gzip', Uint8Array.of(0x1f, 0x8b, 8, 0), 'rows.json.gz', 'gunzip'],
  ['anything binary', 'abc\0def', 'rows.bin', 'JSON array'],
  ['prose', 'hello there', 'rows.txt', 'JSON array'],
  ['columns that are unknown', jsonl({ label: 1, sentence: 'a' }), 'rows.jsonl', 'instruction, output'],
  ['images', jsonl({ question, answer, image: 'a.png' }), 'rows.jsonl', 'text only'],
  [
    'messages with images',
    jsonl({ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }),
    'rows.jsonl',
    'text only',
  ],
  ['rows without an answer', jsonl({ prompt: 'a' }, { prompt: 'b' }), 'rows.jsonl', '--hf-output-len'],
])('refuses a file of %s, with the way out', async (_, content, name, hint) => {
  expect(await problemsOf(read(fileOf(content, name)))).toMatchObject([
    { place: '--dataset-path', hint: expect.stringContaining(hint) },
  ]);
});

it('leaves rows out that it cannot use, with the reasons', async () => {
  const path = fileOf(
    `${jsonl(
      { question: 'Good?', answer },
      { question: 5, answer },
      { question: '', answer },
      { question: 'No answer?', answer: '' },
      { question: 'Broken \ud800?', answer },
      { question: 'Seen?', answer, images: ['a.png'] },
      { prompt: 'of another shape' },
      [1],
    )}{"question": \n`,
  );
  const { requests, notes } = await read(path);
  expect(requests.map(({ prompt }) => prompt)).toEqual(['Good?']);
  expect(notes[0]).toMatch(/^8 of the 9 lines read were left out: /);
  for (const reason of [
    '2 without a text in a column (lines 2, 7)',
    '1 with an empty prompt (line 3)',
    '1 without a recorded answer to take the length of (line 4)',
    '1 with a broken character in the prompt (line 5)',
    '1 with images, audio or video (line 6)',
    '1 with JSON that is no object (line 8)',
    '1 with invalid JSON (line 9)',
  ]) {
    expect(notes[0]).toContain(reason);
  }
});

it('keeps within the limits of ShareGPT, ends included', async () => {
  const of = (tokens: number) => ' the'.repeat(tokens);
  const turns = (a: number, b: number) => ({ conversations: [{ value: of(a) }, { value: of(b) }] });
  const path = fileOf(
    jsonl(turns(4, 4), turns(3, 9), turns(9, 3), turns(1024, 1024), turns(1025, 9), turns(1024, 1025)),
  );
  const { requests, notes } = await read(path);
  expect(requests.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens])).toEqual([
    [4, 4],
    [1024, 1024],
  ]);
  expect(notes[0]).toMatch(/^4 of the 6 lines/);
});

it('reads a set of the hub as vLLM does, by its name', async () => {
  const { requests } = await read(fixture('questions.jsonl'), { hf_name: 'openai/gsm8k' });
  expect(requests).toHaveLength(9);
  expect(requests.every(({ outputTokens }) => outputTokens === 256)).toBe(true);
  for (const hf_name of ['lmarena-ai/VisionArena-Chat', 'nobody/nothing', 'constructor']) {
    expect(await problemsOf(read(fixture('questions.jsonl'), { hf_name }))).toMatchObject([
      { place: '--hf-name', hint: expect.stringContaining('openai/gsm8k') },
    ]);
  }
});

it('works without a tokenizer where the output length is given', async () => {
  const options = { ...inOrder, dataset_path: fixture('questions.jsonl') };
  const { requests } = await made(hf, { ...options, hf_output_len: 12 }, 2, { tokenizer: null });
  expect(requests).toMatchObject([
    { promptTokens: 0, outputTokens: 12 },
    { promptTokens: 0, outputTokens: 12 },
  ]);
  expect(await problemsOf(made(hf, options, 2, { tokenizer: null }))).toMatchObject([{ place: '--hf-output-len' }]);
});

it('reads no further than it needs to', async () => {
  const rows = Array.from({ length: 2000 }, (_, i) => ({ question: `Question ${i}?`, answer }));
  const path = fileOf(`${jsonl(...rows)}this is no JSON\n`);
  const { requests, notes } = await made(hf, { dataset_path: path, seed: 3, skip_chat_template: true }, 5);
  expect([requests.length, notes]).toEqual([5, []]);
});

it('takes a row of a million characters', async () => {
  const long = 'lorem ipsum '.repeat(90_000);
  expect(await promptsOf(fileOf(jsonl({ question: long, answer })))).toEqual([long]);
});
