import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { embedded } from '../../src/engines/embedded.ts';
import { startServer } from '../../src/serving/server.ts';
import { scriptedSource } from '../serving/scripted-source.ts';

const context = { model: 'tiny-qwen3', concurrency: 16 };
const signal = new AbortController().signal;

it('takes no flag for what was not chosen', () => {
  expect(embedded.command({ model: 'tiny-qwen3', port: 4000, settings: {} })).toEqual({
    argv: ['npx', 'servetune', 'serve', '--model', 'tiny-qwen3', '--port', '4000'],
    env: {},
  });
});

it('has a flag for every setting', () => {
  const settings = {
    quantization: 'q4_0',
    attention_backend: 'plain',
    threads: 1,
    max_running_requests: 16,
    max_batched_tokens: 64,
    kv_cache_dtype: 'f32',
    context_length: 512,
  };
  expect(Object.keys(embedded.settings.shape).sort()).toEqual(Object.keys(settings).sort());
  expect(embedded.settings.parse(settings)).toEqual(settings);
  const flags = embedded.command({ model: 'm.gguf', port: 1, settings }).argv.slice(7);
  expect(flags.join(' ')).toBe(
    '--quantization q4_0 --flash-attn off --threads 1 --parallel 16 --batch-size 64 --cache-type f32 --context-length 512',
  );
});

it('knows no setting of another engine', () => {
  expect(embedded.settings.safeParse({ tensor_parallel: 2 }).success).toBe(false);
  expect(embedded.settings.safeParse({ quantization: 'fp8' }).success).toBe(false);
});

it.each([
  [{}, []],
  [{ max_running_requests: 256, kv_cache_dtype: 'q8_0', threads: 1 }, []],
  [{ max_running_requests: 16, max_batched_tokens: 8 }, ['max_batched_tokens']],
  [{ max_batched_tokens: 3 }, ['max_batched_tokens']],
  [{ kv_cache_dtype: 'q4_0', attention_backend: 'plain' }, ['kv_cache_dtype']],
  [{ max_running_requests: 257 }, ['max_running_requests']],
  [{ threads: availableParallelism() + 1 }, ['threads']],
  [{ max_running_requests: 1000, threads: 1e6 }, ['max_running_requests', 'max_batched_tokens', 'threads']],
])('finds what cannot work in %j', (settings, places) => {
  const problems = embedded.conflicts(settings, context);
  expect(problems.map(({ place }) => place)).toEqual(places);
  for (const { message, hint } of problems) {
    expect(hint).toBeTruthy();
    expect(`${message} ${hint}`).not.toContain('--');
  }
});

it('has the version of the binaries', async () => {
  expect(await embedded.version(async () => Promise.reject(new Error('asks nobody')))).toMatch(/^\d+\.\d+\.\d+$/);
});

it('checks the model without starting anything', async () => {
  expect(await embedded.checkModel('tiny-qwen3')).toEqual([]);
  expect(await embedded.checkModel('/nowhere/model.gguf')).toHaveLength(1);
});

it('writes the models of all launches beforehand', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'servetune-prepare-'));
  const launches = [{}, { quantization: 'f16', threads: 1 }, { quantization: 'q4_0' }].map((settings) => ({
    model: 'tiny-qwen3',
    settings,
  }));
  await embedded.prepare?.(launches, { SERVETUNE_CACHE: folder }, signal);
  expect(readdirSync(join(folder, 'models'))).toHaveLength(2);
  rmSync(folder, { recursive: true });
});

it('reads the settings in force back from the engine', async () => {
  const server = await startServer({ host: '127.0.0.1', port: 0 });
  await expect(embedded.effectiveSettings?.(new URL(server.url), signal)).rejects.toMatchObject({
    code: 'no_effective_settings',
  });
  server.attach(scriptedSource([]));
  expect(await embedded.effectiveSettings?.(new URL(server.url), signal)).toEqual({ threads: '1' });
  await server.stop(0);
});

it.each([
  ['out_of_memory: out of memory: the KV cache of 4 x 9 tokens needs 9.0 GB, 1.0 GB are free', 'out_of_memory'],
  ['llama.cpp: ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 1', 'out_of_memory'],
  ['quantized V cache was requested, but this requires Flash Attention', 'unsupported_setting'],
  ['port_in_use: port 8080 on 127.0.0.1 is in use', 'start_failed'],
  ["model_load_failed: llama.cpp cannot load m.gguf: unknown model architecture: 'x'", 'start_failed'],
  ['engine_failed: the engine cannot go on: Eval has failed', 'crashed_under_load'],
])('knows the symptom %s', (line, fate) => {
  expect(embedded.symptoms.find(({ pattern }) => pattern.test(line))).toMatchObject({ fate });
});

it('sees no symptom in the log of a start that went well', () => {
  const lines = [
    'loading /home/a/.cache/servetune/models/tiny-qwen3-r1-f16.gguf',
    'loaded qwen3 ?B F16: 15.7M weights, 31.5 MB, with llama.cpp of node-llama-cpp 3.21.1',
    'settings: quantization=f16 attention_backend=flash (KV cache of 16384 tokens)',
    'listening on http://127.0.0.1:8080',
    'stopping',
  ];
  expect(embedded.symptoms.filter(({ pattern }) => lines.some((line) => pattern.test(line)))).toEqual([]);
});
