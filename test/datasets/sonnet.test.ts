import { expect, it } from 'vitest';
import { sonnet } from '../../src/datasets/sonnet.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import { chatty, fileOf, fixture, made, problemsOf } from './files.ts';

const bare = { ...(await bundledTokenizer()), chatTemplate: null };
const options = {
  dataset_path: fixture('poem.txt'),
  sonnet_input_len: 160,
  sonnet_prefix_len: 60,
  sonnet_output_len: 20,
};
const tokensOf = async (texts: readonly string[]) => (await chatty.encode(texts)).map((ids) => ids.length);

it('makes prompts that share their beginning and keep within the length, the template included', async () => {
  const { requests } = await made(sonnet, options, 30);
  const lengths = await tokensOf(requests.map(({ prompt }) => prompt));
  expect(requests.map(({ promptTokens }) => promptTokens)).toEqual(lengths);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(160);
  expect(Math.min(...lengths)).toBeGreaterThan(120);
  const shared = 'poem lines:\nThe harbour keeps its lanterns low at night,\n';
  expect(requests.every(({ prompt }) => prompt.includes(shared))).toBe(true);
  expect(requests.every(({ outputTokens }) => outputTokens === 20)).toBe(true);
});

it('leaves room for the template that the server applies, and counts without it', async () => {
  const { requests } = await made(sonnet, options, 20, { serverTemplates: true });
  const prompts = requests.map(({ prompt }) => prompt);
  expect(requests.map(({ promptTokens }) => promptTokens)).toEqual(await tokensOf(prompts));
  const whole = await tokensOf(
    prompts.map(
      (content) => chatty.chatTemplate?.render([{ role: 'user', content }], { addGenerationPrompt: true }) ?? '',
    ),
  );
  expect(Math.max(...whole)).toBeLessThanOrEqual(160);
});

it('does without a template when it is to be skipped, or the server has one', async () => {
  for (const [changes, serverTemplates] of [
    [{ skip_chat_template: true }, false],
    [{}, true],
  ] as const) {
    const { requests } = await made(sonnet, { ...options, ...changes }, 2, { tokenizer: bare, serverTemplates });
    expect(requests[0]?.prompt).toMatch(/^Pick as many lines/);
  }
  const problems = await problemsOf(made(sonnet, options, 1, { tokenizer: bare }));
  expect(problems).toMatchObject([{ place: '--tokenizer', hint: expect.stringContaining('--skip-chat-template') }]);
});

it.each([
  ['no room for the opening', { sonnet_input_len: 8, sonnet_prefix_len: 0 }, ['no room for a poem']],
  ['no more than the prefix', { sonnet_input_len: 100, sonnet_prefix_len: 100 }, ['not more than the 100']],
  ['neither', { sonnet_input_len: 8 }, ['no room for a poem', 'not more than the 60']],
  ['no room for a line', { sonnet_input_len: 62, sonnet_prefix_len: 61 }, ['no room for a line']],
])('refuses an input length with %s', async (_, changes, messages) => {
  const problems = await problemsOf(made(sonnet, { ...options, ...changes }, 1));
  expect(problems).toMatchObject(
    messages.map((message) => ({
      place: '--sonnet-input-len',
      message: expect.stringContaining(message),
      hint: expect.stringMatching(/set it (to at least|above) \d+/),
    })),
  );
});

it('stops where no draw is ever short enough', async () => {
  const uneven = fileOf(`${'word '.repeat(60)}\n${'a\n'.repeat(60)}`);
  const lengths = { sonnet_input_len: 60, sonnet_prefix_len: 35 };
  const problems = await problemsOf(made(sonnet, { dataset_path: uneven, ...lengths }, 1));
  expect(problems).toMatchObject([{ place: '--sonnet-input-len', message: expect.stringContaining('in a row') }]);
});

it('reads lines of any line break', async () => {
  const lines = ['one two three', 'four five', '', 'six seven eight'];
  const lengths = { sonnet_input_len: 60, sonnet_prefix_len: 20 };
  const [unix, windows] = await Promise.all(
    ['\n', '\r\n'].map((end) => made(sonnet, { dataset_path: fileOf(lines.join(end)), ...lengths }, 5)),
  );
  expect(windows).toEqual(unix);
});
