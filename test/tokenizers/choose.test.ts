import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import { chooseTokenizer } from '../../src/tokenizers/choose.ts';
import { likeVllm, serve } from './served.ts';

const bundledFile = join(import.meta.dirname, '../../assets/tiny-qwen3/tokenizer.json');
const model = mkdtempSync(join(tmpdir(), 'servetune-model-'));
copyFileSync(bundledFile, join(model, 'tokenizer.json'));

const bundled = await bundledTokenizer();
const served = await serve(likeVllm(bundled));
const mute = await serve({});
afterAll(async () => {
  rmSync(model, { recursive: true });
  await served[Symbol.asyncDispose]();
  await mute[Symbol.asyncDispose]();
});

it.each([
  ['the one that was named', { path: bundledFile, baseUrl: served.url, model }, bundledFile],
  ['the built-in one for the built-in model', { baseUrl: served.url, model: 'tiny-qwen3' }, bundled.name],
  ['the model’s own', { baseUrl: served.url, model }, join(model, 'tokenizer.json')],
  ['the server’s', { baseUrl: served.url, model: 'org/model' }, `the server at ${served.url.origin}`],
])('takes %s', async (_, wanted, name) => {
  const { tokenizer, note } = await chooseTokenizer(wanted);
  expect([tokenizer.name, note]).toEqual([name, undefined]);
});

it.each([
  ['a server without one', mute.url],
  ['no server', undefined],
])('falls back to the built-in one with %s, and says so', async (_, baseUrl) => {
  const { tokenizer, note } = await chooseTokenizer({ baseUrl, model: 'org/model' });
  expect(tokenizer).toBe(bundled);
  expect(note).toMatch(/^No tokenizer of org\/model was found.*approximate.*server’s own token counts.*\.$/);
});

it('never falls back from one that was named', async () => {
  await expect(chooseTokenizer({ path: '/none', baseUrl: served.url, model })).rejects.toThrow(InputError);
});

it.each(['native', 'portable', 'auto'] as const)('takes the %s engine where it is asked for', async (engine) => {
  for (const wanted of [{ path: bundledFile, model }, { model }, { model: 'tiny-qwen3' }, { model: 'org/model' }]) {
    const { tokenizer } = await chooseTokenizer({ ...wanted, engine });
    expect(await tokenizer.encode(['The time of the world'])).toEqual([[785, 882, 315, 279, 1879]]);
    // Only the one in JavaScript has threads of its own to end.
    if (engine === 'native') expect(tokenizer.close).toBeUndefined();
    await tokenizer.close?.();
  }
});
