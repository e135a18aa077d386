import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import type { RequestSpec } from '../../src/records/request.ts';
import { checkFit, overlong, templateTokens } from '../../src/study/fit.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';
import { type Script, startReplay } from '../load/replay.ts';

const signal = AbortSignal.timeout(60_000);
const spec = (promptTokens: number, outputTokens: number): RequestSpec => ({
  index: 0,
  prompt: '',
  promptTokens,
  outputTokens,
});

describe('what does not fit', () => {
  const room = { maxModelLen: 100, addedTokens: 0, generates: true };
  it('is what needs more than there is, to the token', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(200), fc.nat(200)), { minLength: 1 }),
        fc.option(fc.nat(20)),
        fc.boolean(),
        (lengths, addedTokens, generates) => {
          const needs = lengths.map(([prompt, answer]) => prompt + (addedTokens ?? 0) + (generates ? answer : 0));
          const over = needs.filter((tokens) => tokens > 100).length;
          const requests = lengths.map(([prompt, answer]) => spec(prompt, answer));
          const said = overlong(requests, { ...room, addedTokens, generates });
          if (over === 0) return said === undefined;
          const most = Math.max(...needs);
          return (
            said?.message.startsWith(`${over} of ${lengths.length} requests`) === true &&
            said.message.includes(`up to ${most}`) &&
            said.hint.includes(`by ${most - 100} tokens`)
          );
        },
      ),
    );
  });

  it.each([
    [{}, 'up to 101 with the answer'],
    [{ addedTokens: 3 }, 'up to 104 with the answer, 3 of them the chat template’s'],
    [{ addedTokens: null }, 'up to 101 with the answer, the chat template not counted'],
    [{ generates: false, maxModelLen: 90 }, 'up to 91'],
  ])('is told with %j', (changes, end) => {
    expect(overlong([spec(91, 10)], { ...room, ...changes })?.message).toMatch(new RegExp(`: ${end}$`));
  });

  it('is an error with a remedy', () => {
    expect(() => checkFit([spec(91, 9)], room)).not.toThrow();
    expect(() => checkFit([spec(91, 10)], room)).toThrow(InputError);
  });
});

describe('tokens of the chat template', () => {
  const ask = async (answer: (body: Record<string, unknown>) => Script, path = '', tokenizer: Tokenizer | null = null) => {
    await using server = await startReplay((_, { body }) => answer(JSON.parse(body)));
    const target = { model: 'm', baseUrl: new URL(path, server.baseUrl), headers: { 'x-team': 'blue' } };
    const added = await templateTokens({ templates: true }, target, tokenizer, signal);
    return { added, seen: server.seen };
  }; // biome-ignore format: one line
  const json = (value: unknown): Script => ({ steps: [{ afterMs: 0, bytes: JSON.stringify(value) }] });

  it('are none where the server has no template to apply', async () => {
    const target = { model: 'm', baseUrl: new URL('http://127.0.0.1:1'), headers: {} };
    expect(await templateTokens({ templates: false }, target, null, signal)).toBe(0);
  });

  it.each([
    ['', '/tokenize'],
    ['/v1', '/tokenize'],
    ['/api/', '/api/tokenize'],
  ])('are asked of the server at %j with messages, under its name and with its headers', async (path, url) => {
    const { added, seen } = await ask(({ messages }) => json({ count: messages ? 9 : 1 }), path);
    expect(added).toBe(8);
    expect(seen.map((one) => one.url)).toEqual([url, url]);
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ model: 'm', messages: [{ role: 'user' }] });
    expect(seen[0]?.headers['x-team']).toBe('blue');
  });

  it.each<[string, (body: Record<string, unknown>) => Script]>([
    ['has no such route', () => ({ status: 404, steps: [{ afterMs: 0, bytes: 'Not Found' }] })],
    ['takes no messages', ({ messages }) => json(messages ? { detail: 'prompt: field required' } : { tokens: [1] })],
    ['counts less with the template than without', ({ messages }) => json({ count: messages ? 1 : 9 })],
    ['breaks off', () => ({ steps: [{ afterMs: 0, close: 'reset' }] })],
  ])('are not known where the server %s', async (_, answer) => expect((await ask(answer)).added).toBeNull());

  it('are counted with the model’s own template first', async () => {
    const bundled = await bundledTokenizer();
    const chatTemplate = { render: ([chat]: readonly { content: string }[]) => `${chat?.content} the the the` };
    const own = { ...bundled, chatTemplate } as unknown as Tokenizer;
    const { added, seen } = await ask(() => json({ count: 99 }), '', own);
    expect([added, seen.length]).toEqual([3, 0]);
    const refuses = { ...own, chatTemplate: { render: () => { throw new Error('system first'); } } } as unknown as Tokenizer; // biome-ignore format: one line
    expect((await ask(({ messages }) => json({ count: messages ? 9 : 1 }), '', refuses)).added).toBe(8);
  });
});
