import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { findAddon, loadAddon } from '../../src/engines/embedded/addon.ts';
import { modelFile } from '../../src/engines/embedded/model/cache.ts';
import type { ServeOptions } from '../../src/engines/embedded/options.ts';
import { eventsOf, send } from '../serving/requests.ts';
import { type EngineProcess, startEngine } from './embedded-process.ts';

/** For a machine that is busy. */
const slow = { timeout: 30_000, interval: 5 };

const cacheDir = mkdtempSync(join(tmpdir(), 'servetune-lifecycle-'));
const running: EngineProcess[] = [];
let model: Buffer;

function start(options: Partial<ServeOptions>): EngineProcess {
  const engine = startEngine(options, cacheDir);
  running.push(engine);
  return engine;
}

beforeAll(async () => {
  model = readFileSync(await modelFile('tiny-qwen3', undefined, cacheDir));
});

afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

afterAll(() => rmSync(cacheDir, { recursive: true }));

it('ends with 0 on SIGTERM, and tells a request that is still running', async () => {
  const engine = start({ context_length: 20_000, parallel: 1 });
  const url = await engine.url;
  const body = { prompt: 'a', max_tokens: 19_000, ignore_eos: true, stream: true };
  const stream = send(`${url}/v1/completions`, { body });
  await expect.poll(async () => (await send(`${url}/metrics`)).text, slow).toMatch(/generation_tokens_total [1-9]/);
  engine.child.kill('SIGTERM');
  expect(await engine.ended).toBe(0);
  expect(eventsOf((await stream).text).at(-1).error.message).toContain('stopping');
});

it('ends with 0 on SIGTERM while it loads', async () => {
  const engine = start({});
  await expect.poll(() => engine.log(), slow).toContain('loading');
  engine.child.kill('SIGTERM');
  expect(await engine.ended).toBe(0);
});

it('names the port that is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  const engine = start({ port });
  expect(await engine.ended).toBe(2);
  expect(engine.log()).toContain(`port_in_use: port ${port} on 127.0.0.1 is in use`);
  other.close();
});

it('names every setting that cannot work, before it loads anything', async () => {
  const engine = start({ parallel: 300, batch_size: 10, cache_type: 'q8_0', flash_attn: 'off', threads: 100_000 });
  expect(await engine.ended).toBe(2);
  for (const place of ['--parallel', '--batch-size', '--cache-type', '--threads'])
    expect(engine.log()).toContain(place);
  expect(engine.log()).not.toContain('loading');
});

it('refuses a model that is missing or cut off', async () => {
  const missing = start({ model: join(cacheDir, 'none.gguf') });
  const cut = join(cacheDir, 'cut.gguf');
  writeFileSync(cut, model.subarray(0, 1_000_000));
  const short = start({ model: cut });
  expect(await missing.ended).toBe(2);
  expect(missing.log()).toContain('none.gguf');
  expect(await short.ended).toBe(2);
  expect(short.log()).toContain('cut.gguf');
});

it("gives llama.cpp's reason for a model that it does not know", async () => {
  const strange = join(cacheDir, 'strange.gguf');
  const bytes = Buffer.from(model);
  for (let at = bytes.indexOf('qwen3'); at >= 0 && at < 1_000_000; at = bytes.indexOf('qwen3', at + 1)) {
    bytes.write('qwen0', at);
  }
  writeFileSync(strange, bytes);
  const engine = start({ model: strange });
  expect(await engine.ended).toBe(1);
  expect(engine.log()).toMatch(/model_load_failed: llama.cpp cannot load .*unknown model architecture: 'qwen0'/);
});

it('refuses a context that does not fit the memory, at once', async () => {
  const engine = start({ context_length: 1_000_000_000 });
  expect(await engine.ended).toBe(2);
  expect(engine.log()).toMatch(/out_of_memory: out of memory: the KV cache of 4 x 1000000000 tokens needs/);
});

it.each([
  {
    quantization: 'q8_0',
    cache_type: 'q8_0',
    context_length: 64,
    expected: { quantization: 'q8_0', kv_cache_dtype: 'q8_0' },
  },
  {
    quantization: 'q4_0',
    flash_attn: 'off',
    context_length: 64,
    expected: { quantization: 'q4_0', attention_backend: 'plain' },
  },
  { parallel: 256, batch_size: 256, context_length: 64, expected: { max_running_requests: '256' } },
  { parallel: 2, context_length: 16, expected: { max_batched_tokens: '32', context_length: '16' } },
] as const)('reads back the settings in force: %j', async ({ expected, ...options }) => {
  const url = await start(options).url;
  const { settings } = JSON.parse((await send(`${url}/server_info`)).text);
  expect(settings).toMatchObject(expected);
  const body = { prompt: [5, 6, 7], max_tokens: 12, ignore_eos: true };
  const answers = await Promise.all(Array.from({ length: 5 }, () => send(`${url}/v1/completions`, { body })));
  expect(answers.map(({ text }) => JSON.parse(text).usage.completion_tokens)).toEqual([12, 12, 12, 12, 12]);
});

it('has a remedy where the binaries are missing or cannot be loaded', async () => {
  expect(() => findAddon('sunos', 'x64')).toThrow(expect.objectContaining({ code: 'engine_missing', exitCode: 2 }));
  const broken = mkdtempSync(join(cacheDir, 'broken-'));
  writeFileSync(join(broken, 'llama-addon.node'), 'not a library');
  await expect(loadAddon({ version: '0', folder: broken }, () => {})).rejects.toMatchObject({
    code: 'engine_missing',
    hint: expect.stringContaining('glibc 2.34'),
  });
});
