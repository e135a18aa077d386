import { describe, expect, it } from 'vitest';
import { ServetuneError } from '../../src/kit/errors.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import { serverTokenizer } from '../../src/tokenizers/server.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';
import { likeLlamaServer, likeVllm, serve } from './served.ts';

const local = await bundledTokenizer();
const texts = ['Hello, world', '', ' \ufeffnew\r\n\r\n', '日本語 and <|im_end|>', 'a'.repeat(500)];

describe.each([
  ['vLLM', likeVllm(local)],
  ['llama-server', likeLlamaServer(local)],
])('a server like %s', (_, routes) => {
  it('has the vocabulary of its tokenizer, without added and padding tokens', async () => {
    await using server = await serve(routes);
    const tokenizer = (await serverTokenizer(server.url, 'm')) as Tokenizer;
    expect(tokenizer).toMatchObject({ vocabSize: local.vocabSize, specialTokenCount: 1 });
  });

  it('encodes and decodes as its tokenizer does, in order, a few at a time over kept connections', async () => {
    await using server = await serve(routes);
    const tokenizer = (await serverTokenizer(new URL('/v1', server.url), 'm')) as Tokenizer;
    const many = Array.from({ length: 20 }, (_, i) => texts.map((text) => text + (text && i))).flat();
    server.seen.mostAtOnce = 0;
    const ids = await tokenizer.encode(many);
    expect(ids).toEqual(await local.encode(many));
    expect(await tokenizer.decode(ids)).toEqual(await local.decode(ids));
    expect(server.seen.mostAtOnce).toBeGreaterThan(1);
    expect(server.seen.mostAtOnce).toBeLessThanOrEqual(8);
    expect(server.seen.sockets.size).toBeLessThan(100);
  });

  it('stops when it is told to', async () => {
    await using server = await serve(routes);
    const tokenizer = (await serverTokenizer(server.url, 'm')) as Tokenizer;
    const stop = new AbortController();
    const encoding = tokenizer.encode(new Array(10_000).fill('Hello'), stop.signal);
    stop.abort(new Error('enough'));
    await expect(encoding).rejects.toThrow('enough');
    await expect(serverTokenizer(server.url, 'm', stop.signal)).rejects.toThrow('enough');
  });
});

it.each([
  ['has no such route', {}],
  ['fails', { '/tokenize': () => [500, {}] as const }],
  ['knows neither body', { '/tokenize': () => [200, { tokens: [] }] as const }],
  ['answers something else', { '/tokenize': () => [200, { tokens: 'many' }] as const }],
  ['can only encode', { '/tokenize': () => [200, { tokens: [1, 2] }] as const }],
])('a server that %s has no tokenizer', async (_, routes) => {
  await using server = await serve(routes);
  expect(await serverTokenizer(server.url, 'm')).toBeNull();
});

it('nor has one that is not there', async () => {
  const { url, ...server } = await serve({});
  await server[Symbol.asyncDispose]();
  expect(await serverTokenizer(url, 'm')).toBeNull();
});

it('a server that fails later on is an error with a remedy', async () => {
  let broken = false;
  const routes = likeVllm(local);
  await using server = await serve({
    ...routes,
    '/tokenize': async (body) => (broken ? [503, 'busy'] : ((await routes['/tokenize']?.(body)) ?? [404, {}])),
  });
  const tokenizer = (await serverTokenizer(server.url, 'm')) as Tokenizer;
  broken = true;
  const error = await tokenizer.encode(['Hello']).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(ServetuneError);
  expect(error).toMatchObject({ code: 'tokenizer_failed', hint: expect.stringContaining('--tokenizer') });
  expect((error as Error).message).toContain('503');
});
