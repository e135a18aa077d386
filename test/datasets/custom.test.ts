import { describe, expect, it } from 'vitest';
import { custom } from '../../src/datasets/custom.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import { chatty, fileOf, fixture, jsonl, made, problemsOf } from './files.ts';

const bare = { ...(await bundledTokenizer()), chatTemplate: null };
const inOrder = { disable_shuffle: true, skip_chat_template: true, no_oversample: true };
const promptsOf = async (dataset_path: string, changes: Record<string, unknown> = {}) =>
  (await made(custom, { ...inOrder, dataset_path, ...changes }, 20)).requests.map(({ prompt }) => prompt);

describe('the chat template', () => {
  const options = { dataset_path: fileOf(jsonl({ prompt: 'Say hello.' })) };
  const templated = '<|im_start|>user\nSay hello.<|im_end|>\n<|im_start|>assistant\n';

  it('is applied for a completions endpoint only, and not when it is to be skipped', async () => {
    const promptOf = async (changes: object, serverTemplates: boolean) =>
      (await made(custom, { ...options, ...changes }, 1, { serverTemplates })).requests[0]?.prompt;
    expect(await promptOf({}, false)).toBe(templated);
    expect(await promptOf({}, true)).toBe('Say hello.');
    expect(await promptOf({ skip_chat_template: true }, false)).toBe('Say hello.');
  });

  it('is applied twice as by vLLM in its compat modes only, and said to be (case 50)', async () => {
    const { requests, notes } = await made(custom, { ...options, compat: 'vllm-0.11.0' }, 1, { serverTemplates: true });
    expect(requests[0]?.prompt).toBe(templated);
    expect(notes).toEqual([expect.stringContaining('once more')]);
    const mended = await made(custom, options, 1, { serverTemplates: true });
    expect(mended.notes).toEqual([expect.stringContaining('without the chat template')]);
  });

  it('comes with a warning where the server adds special tokens in front', async () => {
    const tokenizer = { ...chatty, specialTokenCount: 1 };
    const { requests, notes } = await made(custom, options, 1, { tokenizer });
    expect(notes).toEqual([expect.stringContaining('"add_special_tokens": false')]);
    const [ids] = await chatty.encode([templated]);
    expect(requests[0]?.promptTokens).toBe((ids?.length ?? 0) + 1);
  });

  it('gets its variables', async () => {
    const seen: unknown[] = [];
    const render = (_: unknown, variables: unknown) => {
      seen.push(variables);
      return 'x';
    };
    const tokenizer = { ...chatty, chatTemplate: { render } };
    await made(custom, { ...options, chat_template_kwargs: { enable_thinking: false } }, 1, { tokenizer });
    expect(seen).toEqual([{ enable_thinking: false, addGenerationPrompt: true }]);
  });

  it('is missed with a remedy', async () => {
    const problems = await problemsOf(made(custom, options, 1, { tokenizer: bare }));
    expect(problems).toMatchObject([{ place: '--tokenizer', hint: expect.stringContaining('--skip-chat-template') }]);
  });
});

describe('rows that cannot be used', () => {
  it('are left out, with their lines and the reasons', async () => {
    const path = fileOf(
      [
        '\ufeff{"prompt": "first"}\r\n',
        '\r\n',
        '{"prompt": 5}\r\n',
        '{"prompt": "cut off\r\n',
        '["prompt"]\n',
        '{"prompt": ""}\n',
        '{"question": "?"}\n',
        '{"prompt": "\\ud83d"}\n',
        '{"prompt": "second \\ud83d\\ude00"}',
      ].join(''),
    );
    const { requests, notes } = await made(custom, { ...inOrder, dataset_path: path }, 2);
    expect(requests.map(({ prompt }) => prompt)).toEqual(['first', 'second \u{1f600}']);
    expect(notes).toEqual([
      '6 of the 8 lines read were left out: 2 without a text in "prompt" (lines 3, 7), 1 with invalid JSON (line 4), ' +
        '1 with JSON that is no object (line 5), 1 with an empty prompt (line 6), ' +
        '1 with a broken character in the prompt (line 8).',
    ]);
  });

  it('stop it where no other is left', async () => {
    const problems = await problemsOf(promptsOf(fileOf(jsonl({ text: 'a' }, { prompt: null }))));
    expect(problems).toMatchObject([
      {
        place: '--dataset-path',
        message: expect.stringContaining('(lines 1, 2)'),
        hint: expect.stringContaining('"prompt"'),
      },
    ]);
  });

  it.each([
    ['a JSON array', '[\n{"prompt": "a"},\n{"prompt": "b"}\n]\n', 'line 1 holds invalid JSON', "jq -c '.[]'"],
    ['a JSON array on one line', '[{"prompt": "a"}]', 'line 1 holds JSON that is no object', "jq -c '.[]'"],
    ['objects over several lines', '\n{\n"prompt": "a"\n}\n', 'line 2 holds invalid JSON', 'jq -c .'],
    ['CSV', 'prompt\nhello\n', 'line 1 holds invalid JSON', 'one JSON object a line'],
    ['Parquet', 'PAR1\x15\x04\x15\n', 'line 1 holds invalid JSON', 'read_parquet'],
  ])('tell that a file is %s', async (_, content, message, hint) => {
    const problems = await problemsOf(promptsOf(fileOf(content)));
    expect(problems).toMatchObject([
      { place: '--dataset-path', message: expect.stringContaining(message), hint: expect.stringContaining(hint) },
    ]);
  });
});

describe('lengths', () => {
  const path = fileOf(
    jsonl(
      { prompt: 'a', output_tokens: 7 },
      { prompt: 'b', output_tokens: '12' },
      { prompt: 'c', output_tokens: 3.9 },
      { prompt: 'd' },
      { prompt: 'e', output_tokens: 0 },
      { prompt: 'f', output_tokens: null },
    ),
  );
  const lengths = async (custom_output_len: number) =>
    (await made(custom, { ...inOrder, dataset_path: path, custom_output_len }, 9)).requests.map((r) => r.outputTokens);

  it('of answers are those of the option, or with -1 those of the rows', async () => {
    expect(await lengths(40)).toEqual([40, 40, 40, 40, 40, 40]);
    expect(await lengths(-1)).toEqual([7, 12, 3]);
  });

  it('of prompts are 0 without a tokenizer; the 2026 vLLM calls both 1', async () => {
    const options = { ...inOrder, skip_chat_template: false, dataset_path: path };
    const without = await made(custom, options, 1, { tokenizer: null });
    expect(without.requests).toEqual([{ index: 0, prompt: 'a', promptTokens: 0, outputTokens: 256 }]);
    expect(without.notes[0]).toContain('without the chat template');
    const compat = await made(custom, { ...options, compat: 'vllm-2026-08' }, 1, { tokenizer: null });
    expect(compat.requests).toEqual([{ index: 0, prompt: 'a', promptTokens: 1, outputTokens: 1 }]);
  });
});

it('takes a prompt of a million characters as it is', async () => {
  const long = 'lorem ipsum '.repeat(90_000);
  expect(await promptsOf(fileOf(jsonl({ prompt: long })))).toEqual([long]);
});

it('says how many prompts are repeats, or that there are no more', async () => {
  const options = { dataset_path: fixture('custom.jsonl'), skip_chat_template: true };
  expect((await made(custom, options, 15)).notes).toEqual([expect.stringContaining('3 of 15 prompts are repeats')]);
  const { requests, notes } = await made(custom, { ...options, no_oversample: true }, 15);
  expect([requests.length, notes]).toEqual([12, [expect.stringContaining('only 12 of the 15')]]);
});
