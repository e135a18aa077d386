import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventsOf, type Json, send, sendAndLeave, sendJson, until } from '../serving/requests.ts';
import { type EngineProcess, startEngine } from './embedded-process.ts';

const cacheDir = mkdtempSync(join(tmpdir(), 'servetune-embedded-'));
let engine: EngineProcess;
let url: string;

beforeAll(async () => {
  engine = startEngine({ parallel: 4, batch_size: 32, context_length: 256, threads: 1 }, cacheDir);
  url = await engine.url;
});

afterAll(async () => {
  engine.child.kill('SIGKILL');
  await engine.ended;
  rmSync(cacheDir, { recursive: true });
});

const ask = { model: 'tiny-qwen3', prompt: 'The quick brown fox', temperature: 0, ignore_eos: true };
const usage = { stream: true, stream_options: { include_usage: true } };

async function stream(path: string, body: object, agent?: Agent): Promise<Json[]> {
  const { status, text } = await send(`${url}${path}`, { body, ...(agent ? { agent } : {}) });
  expect(status).toBe(200);
  const events = eventsOf(text);
  expect(events.at(-1)).toBe('[DONE]');
  return events.slice(0, -1);
}

async function counter(name: string): Promise<number> {
  const { text } = await send(`${url}/metrics`);
  const line = text.split('\n').find((l) => l.startsWith(`servetune:${name} `));
  return Number(line?.split(' ')[1]);
}

it('tells what it serves and with which settings', async () => {
  const { json } = await sendJson(`${url}/v1/models`);
  expect(json.data[0]).toMatchObject({
    id: 'tiny-qwen3',
    max_model_len: 256,
    meta: { n_vocab: 8192, n_ctx_train: 32768 },
  });
  expect((await sendJson(`${url}/server_info`)).json).toEqual({
    version: expect.stringMatching(/^embedded \d+\.\d+\.\d+/),
    model: 'tiny-qwen3',
    settings: {
      quantization: 'f16',
      attention_backend: 'flash',
      kv_cache_dtype: 'f16',
      max_running_requests: '4',
      max_batched_tokens: '32',
      context_length: '256',
      threads: '1',
    },
  });
});

it.each([1, 2, 33])('makes exactly %i tokens when told to ignore the end, one event a token', async (max_tokens) => {
  const events = await stream('/v1/completions', { ...ask, ...usage, max_tokens });
  const texts = events.filter((e) => e.choices.length > 0 && e.choices[0].finish_reason === null);
  expect(texts).toHaveLength(max_tokens);
  expect(events.at(-2).choices[0].finish_reason).toBe('length');
  expect(events.at(-1).usage).toEqual({
    prompt_tokens: 6,
    completion_tokens: max_tokens,
    total_tokens: 6 + max_tokens,
  });
});

it('gives the same text whole and as a stream, and for text and its tokens', async () => {
  const { json: whole } = await sendJson(`${url}/v1/completions`, { ...ask, max_tokens: 24 });
  const events = await stream('/v1/completions', { ...ask, stream: true, max_tokens: 24 });
  expect(events.map((e) => e.choices[0].text).join('')).toBe(whole.choices[0].text);
  const { tokens } = (await sendJson(`${url}/tokenize`, { prompt: ask.prompt })).json;
  const { json: fromTokens } = await sendJson(`${url}/v1/completions`, { ...ask, prompt: tokens, max_tokens: 24 });
  expect(fromTokens.choices[0].text).toBe(whole.choices[0].text);
  expect(fromTokens.usage).toEqual(whole.usage);
});

it('draws the same tokens for the same seed, others for another', async () => {
  const draw = async (seed: number) =>
    (await sendJson(`${url}/v1/completions`, { ...ask, temperature: 1, seed, max_tokens: 16 })).json.choices[0].text;
  const first = await draw(1);
  expect(await draw(1)).toBe(first);
  expect(await draw(2)).not.toBe(first);
});

it('stops at a text that spans tokens', async () => {
  const events = await stream('/v1/completions', { ...ask, stream: true, max_tokens: 30 });
  const texts: string[] = events.map((e) => e.choices[0].text);
  const whole = texts.join('');
  // The end of one token with the beginning of the next one, where this text comes first.
  const stop = texts
    .slice(1)
    .map((text, i) => (texts[i] as string).slice(-1) + text.slice(0, 1))
    .find((candidate) => candidate.length === 2 && !texts.some((text) => text.includes(candidate)));
  expect(stop).toBeDefined();
  const { json } = await sendJson(`${url}/v1/completions`, { ...ask, max_tokens: 30, stop });
  expect(json.choices[0]).toMatchObject({ text: whole.slice(0, whole.indexOf(stop as string)), finish_reason: 'stop' });
  expect(json.usage.completion_tokens).toBeLessThan(30);
});

it('chats with the template of the model', async () => {
  const messages = [{ role: 'user', content: 'Hello' }];
  const events = await stream('/v1/chat/completions', { ...usage, messages, max_tokens: 5, ignore_eos: true });
  expect(events[0].choices[0].delta).toEqual({ role: 'assistant', content: '' });
  const spelled = '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n';
  const { count } = (await sendJson(`${url}/tokenize`, { prompt: spelled })).json;
  expect(events.at(-1).usage).toMatchObject({ prompt_tokens: count, completion_tokens: 5 });
});

it('reads prompts that are longer than a step', async () => {
  const prompt = Array.from({ length: 200 }, (_, i) => 100 + i);
  const { json } = await sendJson(`${url}/v1/completions`, { ...ask, prompt, max_tokens: 56 });
  expect(json.usage).toEqual({ prompt_tokens: 200, completion_tokens: 56, total_tokens: 256 });
});

it('refuses a prompt that does not fit, with the numbers', async () => {
  const prompt = Array.from({ length: 200 }, (_, i) => 100 + i);
  const { status, json } = await sendJson(`${url}/v1/completions`, { ...ask, prompt, max_tokens: 57 });
  expect(status).toBe(400);
  expect(json.error.code).toBe('context_length_exceeded');
  for (const number of ['200', '57', '256']) expect(json.error.message).toContain(number);
});

it('refuses another model and a token outside the vocabulary', async () => {
  expect((await sendJson(`${url}/v1/completions`, { ...ask, model: 'other' })).status).toBe(404);
  expect((await sendJson(`${url}/v1/completions`, { ...ask, prompt: [8192] })).status).toBe(400);
});

it('serves sixteen at once with four slots, on as many connections, and counts their tokens', async () => {
  const before = [await counter('prompt_tokens_total'), await counter('generation_tokens_total')] as const;
  const agent = new Agent({ keepAlive: true });
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, i) => {
      const prompt = Array.from({ length: 5 + 7 * i }, (__, j) => 200 + j + i);
      return stream('/v1/completions', { ...ask, ...usage, prompt, max_tokens: 8 + i }, agent);
    }),
  );
  agent.destroy();
  const usages = answers.map((events) => events.at(-1).usage);
  expect(usages.map((u) => u.completion_tokens)).toEqual(Array.from({ length: 16 }, (_, i) => 8 + i));
  expect(usages.map((u) => u.prompt_tokens)).toEqual(Array.from({ length: 16 }, (_, i) => 5 + 7 * i));
  const sum = (of: 'prompt_tokens' | 'completion_tokens') => usages.reduce((all, u) => all + u[of], 0);
  expect((await counter('prompt_tokens_total')) - before[0]).toBe(sum('prompt_tokens'));
  expect((await counter('generation_tokens_total')) - before[1]).toBe(sum('completion_tokens'));
  expect(await counter('requests_running')).toBe(0);
});

it('stops generating for a client that went away', async () => {
  const name = 'requests_finished_total{reason="cancelled"}';
  const before = await counter(name);
  await sendAndLeave(`${url}/v1/completions`, { ...ask, max_tokens: 250, stream: true });
  await until(async () => (await counter(name)) === before + 1);
  await until(async () => (await counter('requests_running')) === 0);
});

it('gives valid text for any tokens, and takes it back', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < 100; i++) {
    const tokens = Array.from({ length: 20 }, (_, j) => 1000 + ((i * 37 + j * 101) % 7000));
    const { text } = await send(`${url}/detokenize`, { body: { tokens }, agent });
    const { prompt } = JSON.parse(text) as { prompt: string };
    const again = await send(`${url}/tokenize`, { body: { prompt }, agent });
    const { tokens: taken } = JSON.parse(again.text) as { tokens: number[] };
    const back = await send(`${url}/detokenize`, { body: { tokens: taken }, agent });
    expect(JSON.parse(back.text)).toEqual({ prompt });
  }
  agent.destroy();
});
