import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { versionIn } from '../../src/engines/llama-cpp/builds.ts';
import { effectiveSettings, fitsSlots } from '../../src/engines/llama-cpp/slots.ts';
import { defaultStages } from '../../src/engines/llama-cpp/stages.ts';
import { llamaCpp } from '../../src/engines/llama-cpp.ts';
import type { RunResult } from '../../src/processes/run.ts';
import type { Gpu } from '../../src/records/gpu.ts';
import type { Settings } from '../../src/records/settings.ts';
import { engineContract } from '../contracts/engine.ts';

const release = '0.4.0';
const launch = (settings: Settings = {}, version: string = release) => ({
  model: '/models/qwen3.gguf',
  port: 8000,
  settings,
  version,
});
/** The words behind model, host and port. */
const words = (settings: Settings, version?: string): string =>
  llamaCpp.command(launch(settings, version)).argv.slice(7).join(' ');

const everything: Settings = {
  attention_backend: 'flash',
  kv_cache_dtype: 'q8_0',
  max_running_requests: 16,
  max_batched_tokens: 1024,
  context_length: 4096,
  prefix_caching: false,
  kv_offload_gib: 2,
  threads: 8,
  gpu_layers: 99,
  speculative_method: 'draft_model',
  speculative_model: '/models/small.gguf',
  speculative_tokens: 4,
  extra_args: '--no-warmup',
};

engineContract(llamaCpp, everything);

describe('the command of llama-server', () => {
  it('says settings with its own flags', () => {
    expect(llamaCpp.command(launch())).toEqual({
      argv: ['llama-server', '-m', '/models/qwen3.gguf', '--host', '127.0.0.1', '--port', '8000'],
      env: {},
    });
    expect(words({ max_batched_tokens: 1024 })).toBe('-b 1024 -ub 1024');
    expect(words({ kv_cache_dtype: 'q8_0', attention_backend: 'flash' })).toBe('-fa on -ctk q8_0 -ctv q8_0');
    expect(words({ attention_backend: 'plain' })).toBe('-fa off');
    expect(words({ kv_offload_gib: 0.5 })).toBe('--cache-ram 512');
    expect(words({ extra_args: "--no-warmup --chat-template 'a b'" })).toBe('--no-warmup --chat-template a b');
  });

  it('gives every slot the context that one request needs', () => {
    expect(words({ context_length: 4096, max_running_requests: 16 })).toBe('-np 16 -c 65536');
    expect(words({ context_length: 4096 })).toBe('-c 16384');
    expect(words({ context_length: 4096 }, 'b6400')).toBe('-c 4096');
  });

  it('keeps nothing of a prompt without prefix caching', () => {
    expect(words({ prefix_caching: false })).toBe('--no-cache-prompt --cache-ram 0');
    expect(words({ prefix_caching: false }, 'b6400')).toBe('--no-cache-prompt');
    expect(words({ prefix_caching: true })).toBe('--cache-prompt');
  });

  it('says flash attention as each build does', () => {
    expect(words({ attention_backend: 'flash' }, 'b6300')).toBe('-fa');
    expect(words({ attention_backend: 'plain' }, 'b6300')).toBe('');
    expect(words({ attention_backend: 'plain' }, 'b6325')).toBe('-fa off');
  });

  it('says the length of a draft as each way of drafting does', () => {
    expect(words({ speculative_method: 'draft_model', speculative_model: 's.gguf', speculative_tokens: 4 })).toBe(
      '--spec-type draft-simple -md s.gguf --spec-draft-n-max 4',
    );
    expect(words({ speculative_method: 'ngram', speculative_tokens: 8 })).toBe(
      '--spec-type ngram-simple --spec-ngram-simple-size-m 8',
    );
    expect(words({ speculative_method: 'ngram_mod', speculative_tokens: 8 })).toBe(
      '--spec-type ngram-mod --spec-ngram-mod-n-max 8',
    );
  });

  it('counts, and lets nothing shrink, while it is measured', () => {
    expect(llamaCpp.measuring?.(launch()).argv).toEqual(['--metrics', '--fit', 'off']);
    expect(llamaCpp.measuring?.(launch({}, 'b7376')).argv).toEqual(['--metrics']);
  });

  it('has no flag that release 0.4.0 does not have', () => {
    const file = resolve(import.meta.dirname, '../fixtures/engines/llama-cpp-0.4.0/flags.txt');
    const known = new Set(readFileSync(file, 'utf8').trim().split('\n'));
    const said = [
      everything,
      { prefix_caching: false },
      { prefix_caching: true },
      { speculative_method: 'ngram', speculative_tokens: 8 },
      { speculative_method: 'ngram_mod', speculative_tokens: 8 },
    ].flatMap((settings) => {
      const { argv } = llamaCpp.command(launch(settings));
      return [...argv, ...(llamaCpp.measuring?.(launch(settings)).argv ?? [])];
    });
    const flags = said.filter((word) => /^--?[a-z]/.test(word));
    expect(flags.length).toBeGreaterThan(20);
    expect(flags.filter((flag) => !known.has(flag))).toEqual([]);
  });
});

describe('what llama-server cannot do', () => {
  const places = (settings: Settings): readonly string[] =>
    llamaCpp.conflicts(settings, { model: 'm', concurrency: 1 }).map(({ place }) => place);

  it('is said with the setting that is to blame', () => {
    expect(places({ kv_cache_dtype: 'q4_0', attention_backend: 'plain' })).toEqual(['kv_cache_dtype']);
    expect(places({ kv_cache_dtype: 'q4_0' })).toEqual([]);
    expect(places({ speculative_method: 'draft_model' })).toEqual(['speculative_method']);
    expect(places({ speculative_model: 'small.gguf' })).toEqual(['speculative_model']);
    expect(places({ prefix_caching: false, kv_offload_gib: 4 })).toEqual(['kv_offload_gib']);
    expect(places({ extra_args: '--port 1' })).toEqual(['extra_args']);
  });

  it('is a slot too many', () => {
    expect(llamaCpp.settings.safeParse({ max_running_requests: 257 }).success).toBe(false);
  });

  it('is a model that is no GGUF file', async () => {
    const found = async (model: string) => (await llamaCpp.checkModel(model)).map(({ message }) => message);
    expect(await found('/no/such/model.gguf')).toHaveLength(1);
    expect(await found('tiny-qwen3')).toEqual(['only the engine embedded makes that model']);
  });
});

describe('the version of llama-server', () => {
  it.each([
    ['version: 7376 (6b1ae5c)\nbuilt with cc (Debian) for x86_64-linux-gnu\n', 'b7376'],
    ['ggml_cuda_init: found 1 CUDA devices\nversion: 8763 (ff5ef8278)\n', 'b8763'],
    ['version: 0.4.0 (build 10700, commit 80fb11a)\n', '0.4.0'],
    ['version: 0.4.1-dev (build 11118, commit e6ab7c1a4)\n', 'b11118'],
    ['version: 0.4.0-dev (build 1, commit 80fb11a)\n', '0.4.0-dev'],
    ['llama-server: command not found\n', undefined],
  ])('is read from %j', (printed, version) => {
    expect(versionIn(printed)).toBe(version);
  });

  const answer = (code: number, stderr: string): RunResult => ({
    code,
    signal: null,
    stdout: '',
    stderr,
    timedOut: false,
  });

  it('comes from stderr too, and is missed with a remedy', async () => {
    expect(await llamaCpp.version(async () => answer(0, 'version: 7376 (6b1ae5c)\n'))).toBe('b7376');
    await expect(llamaCpp.version(async () => answer(127, 'no such thing'))).rejects.toThrow('no such thing');
  });

  it('names the image', () => {
    expect(llamaCpp.image?.('b11118')).toBe('ghcr.io/ggml-org/llama.cpp:server-cuda-b11118');
    expect(llamaCpp.image?.('0.4.1')).toBe('ghcr.io/ggml-org/llama.cpp:server-cuda-v0.4.1');
  });
});

describe('the slots of a running server', () => {
  const serving = async (status: number, body: object): Promise<Readonly<Record<string, string>>> => {
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/props' ? status : 404;
      response.end(JSON.stringify(body));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    try {
      const { port } = server.address() as AddressInfo;
      return await effectiveSettings(new URL(`http://127.0.0.1:${port}`), AbortSignal.timeout(5000));
    } finally {
      server.close();
    }
  };

  it('are read from it', async () => {
    const props = {
      default_generation_settings: { n_ctx: 1024, params: { temperature: 0.8 } },
      total_slots: 4,
      model_ftype: 'Q4_K - Medium',
      build_info: 'b10700-80fb11a',
    };
    expect(await serving(200, props)).toEqual({
      max_running_requests: '4',
      context_length: '1024',
      quantization: 'Q4_K - Medium',
      build: 'b10700-80fb11a',
    });
    await expect(serving(503, {})).rejects.toThrow('answered 503');
  });

  const slots = (count: number, context: number, unified?: boolean): Record<string, string> => ({
    max_running_requests: String(count),
    context_length: String(context),
    ...(unified === undefined ? {} : { kv_unified: String(unified) }),
  });
  const need = (requestTokens: number, settings: Settings = {}, concurrency = 16) => ({
    requestTokens,
    concurrency,
    settings,
  });

  it('must hold a prompt and its answer', () => {
    expect(fitsSlots(slots(4, 1024), need(1024))).toBeUndefined();
    expect(fitsSlots(slots(4, 1024), need(1025))).toMatchObject({
      place: 'context_length',
      message: 'a slot holds 1024 tokens, the longest request and its answer need 1025',
    });
  });

  it('must be as many as were asked for', () => {
    expect(fitsSlots(slots(4, 8000), need(100, { max_running_requests: 4 }))).toBeUndefined();
    expect(fitsSlots(slots(4, 8000), need(100, { max_running_requests: 1 }))?.place).toBe('max_running_requests');
  });

  it('must not overflow a cache that they share', () => {
    expect(fitsSlots(slots(4, 4096, true), need(1024))).toBeUndefined();
    expect(fitsSlots(slots(4, 4096, true), need(1025))?.place).toBe('context_length');
    expect(fitsSlots(slots(4, 4096, false), need(1025))).toBeUndefined();
    // Two requests at a time take two slots.
    expect(fitsSlots(slots(4, 4096, true), need(2048, {}, 2))).toBeUndefined();
    // The cap of one slot is not what they share.
    expect(fitsSlots(slots(4, 1100, true), need(1100, { context_length: 1100 }))).toBeUndefined();
  });

  it('fit as long as nothing is known', () => {
    expect(fitsSlots({}, need(100_000))).toBeUndefined();
  });
});

describe('the default stages of llama-server', () => {
  const gpu: Gpu = {
    vendor: 'nvidia',
    index: 0,
    uuid: 'GPU-0',
    name: 'a GPU',
    memoryMiB: 24_000,
    computeCapability: 89,
    driver: '580',
    powerLimitW: 450,
  };
  const facts = { model: 'm', concurrency: 10, version: release };

  it('try slots up to the requests that come at once', () => {
    expect(defaultStages(facts, 8)[0]?.alternatives.map((s) => s.max_running_requests)).toEqual([4, 8, 16]);
    expect(defaultStages({ ...facts, concurrency: 1000 }, 8)[0]?.alternatives.at(-1)?.max_running_requests).toBe(256);
  });

  it('try threads only where nothing but the CPU computes', () => {
    const threads = (gpus: readonly Gpu[], cores: number) =>
      defaultStages({ ...facts, gpus }, cores).find(({ name }) => name === 'threads')?.alternatives;
    expect(threads([], 8)).toEqual([{ threads: 7 }, { threads: 4 }]);
    expect(threads([], 2)).toEqual([{ threads: 1 }]);
    expect(threads([gpu], 8)).toBeUndefined();
  });

  it('use the GPU in builds that do not by themselves', () => {
    const first = (version: string) => defaultStages({ ...facts, gpus: [gpu], version }, 8)[0]?.name;
    expect(first('b6000')).toBe('GPU layers');
    expect(first('b9000')).toBe('slots');
  });

  it.each([[[]], [[gpu]]])('hold nothing that is refused', (gpus) => {
    for (const { alternatives } of defaultStages({ ...facts, gpus }, 1)) {
      for (const settings of alternatives) {
        expect(llamaCpp.settings.safeParse(settings).error).toBeUndefined();
        expect(llamaCpp.conflicts(settings, { ...facts, gpus })).toEqual([]);
      }
    }
  });
});
