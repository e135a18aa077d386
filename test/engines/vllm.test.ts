import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Ask, Facts } from '../../src/engines/engine.ts';
import { missing } from '../../src/engines/mapping.ts';
import { mapping } from '../../src/engines/vllm/settings.ts';
import { vllm } from '../../src/engines/vllm.ts';
import type { Settings } from '../../src/records/settings.ts';
import { engineContract } from '../contracts/engine.ts';
import { engineServer } from './engine-server.ts';
import { gpus, qwen3 } from './gpus.ts';
import { flagsGoneIn, flagsIn, flagsLaterThan, flagsValidIn, recordedText } from './recorded.ts';
import { vllmSamples } from './vllm-samples.ts';

const command = (settings: Settings, version?: string) =>
  vllm.command({ model: 'Qwen/Qwen3-14B', port: 8000, settings, ...(version ? { version } : {}) });
const served = ['vllm', 'serve', 'Qwen/Qwen3-14B', '--host', '127.0.0.1', '--port', '8000'];
/** What is added to the command for settings. */
const added = (settings: Settings, version?: string) => command(settings, version).argv.slice(served.length);

engineContract(vllm, vllmSamples);

describe('the command of vLLM', () => {
  it('is what one would type, on loopback', () => {
    expect(command({})).toEqual({ argv: served, env: {} });
  });

  it('takes the checkpoint that a quantization names, or converts at load', () => {
    expect(command({ quantization: 'fp8' }).argv[2]).toBe('Qwen/Qwen3-14B-FP8');
    expect(added({ quantization: 'awq' })).toEqual([]);
    expect(vllm.checkpoint?.('Qwen/Qwen3-14B', { quantization: 'awq' })).toBe('Qwen/Qwen3-14B-AWQ');
    expect(added({ quantization: 'fp8_online' }, '0.11.0')).toEqual(['--quantization', 'fp8']);
    expect(added({ quantization: 'fp8_online' }, '0.25.1')).toEqual(['--quantization', 'fp8_per_tensor']);
    expect(command({ quantization: 'fp8_online' }).argv[2]).toBe('Qwen/Qwen3-14B');
  });

  it('chooses the attention backend the way its version understands', () => {
    expect(command({ attention_backend: 'flashinfer' }, '0.11.0').env).toEqual({
      VLLM_ATTENTION_BACKEND: 'FLASHINFER',
    });
    expect(added({ attention_backend: 'flashinfer' }, '0.11.0')).toEqual([]);
    for (const version of ['0.13.0', '0.25.1', undefined]) {
      expect(command({ attention_backend: 'flashinfer' }, version).env).toEqual({});
      expect(added({ attention_backend: 'flashinfer' }, version)).toEqual(['--attention-backend', 'FLASHINFER']);
    }
  });

  it('passes switches without a value', () => {
    expect(added({ prefix_caching: false, chunked_prefill: true, async_scheduling: true, cuda_graphs: false })).toEqual([
      '--no-enable-prefix-caching', '--enable-chunked-prefill', '--async-scheduling', '--enforce-eager',
    ]); // biome-ignore format: a command line
    expect(added({ cuda_graphs: true })).toEqual([]);
  });

  it('says the size of graphs and the compilation as its version does', () => {
    expect(added({ cuda_graph_max_batch: 64, torch_compile: false }, '0.11.0')).toEqual([
      '--cuda-graph-sizes', '64', '--compilation-config', '{"level":0}',
    ]); // biome-ignore format: a command line
    expect(added({ cuda_graph_max_batch: 64, torch_compile: true }, '0.25.1')).toEqual([
      '--max-cudagraph-capture-size', '64', '--compilation-config', '{"mode":3}',
    ]); // biome-ignore format: a command line
  });

  it('gathers speculative decoding in one flag', () => {
    const drafting = { speculative_method: 'eagle3', speculative_model: 'some/draft', speculative_tokens: 3 };
    expect(added(drafting)).toEqual([
      '--speculative-config',
      '{"method":"eagle3","model":"some/draft","num_speculative_tokens":3}',
    ]);
  });

  it('ends with what is passed on as it stands', () => {
    expect(added({ extra_args: `--hf-overrides '{"a": 1}'`, dtype: 'half' })).toEqual([
      '--dtype', 'half', '--hf-overrides', '{"a": 1}',
    ]); // biome-ignore format: a command line
  });

  it('asks for cached tokens and opens the cache reset for measuring only', () => {
    const measuring = vllm.measuring?.({ model: 'm', port: 1, settings: {} });
    expect(measuring?.env).toMatchObject({ VLLM_SERVER_DEV_MODE: '1' });
    for (const word of measuring?.argv ?? []) expect(command({}).argv).not.toContain(word);
  });
});

describe('the flags of vLLM', () => {
  const measuring = vllm.measuring?.({ model: 'm', port: 1, settings: {} }).argv ?? [];

  it.each([
    ['0.25.1', 'vllm-0.25.1/help/serve-help-all.txt'],
    ['0.11.0', 'vllm-0.11.0/flags.txt'],
  ])('are those that %s has, and none that it has not', (version, path) => {
    const known = flagsIn(path);
    expect(known.size).toBeGreaterThan(150);
    // The list from the sources has no negated forms: each is made from the flag beside it.
    const has = (flag: string) =>
      known.has(flag) || (path.endsWith('flags.txt') && known.has(flag.replace('--no-', '--')));
    const valid = [...flagsValidIn(mapping, version), ...measuring, '--host', '--port'];
    expect(valid.filter((flag) => !has(flag))).toEqual([]);
    const others = [...flagsGoneIn(mapping, version), ...flagsLaterThan(mapping, version)];
    expect(others).not.toEqual([]);
    expect(others.filter(has)).toEqual([]);
  });

  it('takes only values that the help of 0.25.1 offers', () => {
    const help = recordedText('vllm-0.25.1/help/serve-help-all.txt');
    const choices = (flag: string) => new RegExp(`^  ${flag} {(.*?)}`, 'm').exec(help)?.[1]?.split(',') ?? [];
    for (const [name, flag] of [
      ['kv_cache_dtype', '--kv-cache-dtype'],
      ['dtype', '--dtype'],
      ['scheduling_policy', '--scheduling-policy'],
      ['performance_mode', '--performance-mode'],
    ] as const) {
      const { options } = vllm.settings.shape[name].unwrap();
      expect(choices(flag), name).toEqual(expect.arrayContaining([...options]));
    }
  });

  it('does not have some settings in old versions', () => {
    const lacks = (version: string) => missing(mapping, vllmSamples, { name: 'vllm', version }).map((p) => p.place);
    expect(lacks('0.11.0').sort()).toEqual(['kv_offload_gib', 'performance_mode', 'stream_interval']);
    expect(lacks('0.16.0')).toEqual(['performance_mode']);
    expect(lacks('0.25.1')).toEqual([]);
  });

  it('prints all of them by one command', () => {
    expect(recordedText('vllm-0.25.1/help/serve-help-all.txt').split('\n')[0]).toContain(
      vllm.help?.slice(1).join(' ') as string,
    );
  });
});

describe('what vLLM refuses', () => {
  const places = (settings: Settings, facts: Partial<Facts> = {}) =>
    vllm.conflicts(settings, { model: 'm', concurrency: 1, ...facts }).map(({ place }) => place);

  it.each([
    [{ max_running_requests: 512, max_batched_tokens: 256 }, 'max_batched_tokens'],
    [{ chunked_prefill: false, max_batched_tokens: 4096, context_length: 8192 }, 'max_batched_tokens'],
    [{ attention_backend: 'flash_attn', kv_cache_dtype: 'fp8_e5m2' }, 'kv_cache_dtype'],
    [{ attention_backend: 'flex_attention', kv_cache_dtype: 'fp8' }, 'kv_cache_dtype'],
    [{ cuda_graphs: false, torch_compile: true }, 'torch_compile'],
    [{ speculative_method: 'ngram' }, 'speculative_method'],
    [{ extra_args: '--host 0.0.0.0' }, 'extra_args'],
  ])('%j, whatever the GPU', (settings, place) => {
    expect(places(settings)).toEqual([place]);
  });

  it('counts GPUs and what they can', () => {
    expect(places({ tensor_parallel: 2 }, { gpus: gpus('H100') })).toEqual(['tensor_parallel']);
    expect(places({ quantization: 'fp8' }, { gpus: gpus('T4'), version: '0.11.0' })).toEqual(['quantization']);
    expect(places({ quantization: 'fp8' }, { gpus: gpus('A100'), version: '0.11.0' })).toEqual([]);
    expect(places({ kv_cache_dtype: 'fp8' }, { gpus: gpus('A100'), version: '0.11.0' })).toEqual(['kv_cache_dtype']);
    const read = { kv_cache_dtype: 'fp8', attention_backend: 'flash_attn' };
    expect(places(read, { gpus: gpus('H100') })).toEqual([]);
    for (const card of ['A100', 'L40S', 'B200'] as const) {
      expect(places(read, { gpus: gpus(card) })).toEqual(['kv_cache_dtype']);
    }
    expect(places({ context_length: 100000 }, { shape: qwen3 })).toEqual(['context_length']);
  });

  it('only in the versions that do', () => {
    const settings = { async_scheduling: true, speculative_method: 'ngram', speculative_tokens: 3 };
    expect(places(settings, { version: '0.11.0' })).toEqual(['async_scheduling']);
    expect(places(settings, { version: '0.25.1' })).toEqual([]);
    expect(places(settings)).toEqual([]);
  });
});

describe('an installed vLLM', () => {
  const withProgram = async (script: string, use: (ask: Ask) => Promise<void>) => {
    const dir = mkdtempSync(join(tmpdir(), 'servetune-vllm-'));
    writeFileSync(join(dir, 'vllm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    try {
      await use(async ([name = '', ...args]) => {
        const { status, signal, stdout, stderr } = spawnSync(join(dir, name), args, { encoding: 'utf8' });
        return { code: status, signal, stdout, stderr, timedOut: false };
      });
    } finally {
      rmSync(dir, { recursive: true });
    }
  };

  it('tells its version, whatever it warns of before', () =>
    withProgram('echo "WARNING: no GPU" >&2; [ "$1" = --version ] && echo 0.25.1', async (ask) => {
      expect(await vllm.version(ask)).toBe('0.25.1');
    }));

  it('is refused with its last words when it tells none', () =>
    withProgram('echo "ImportError: libcuda.so.1" >&2; exit 1', async (ask) => {
      await expect(vllm.version(ask)).rejects.toThrow(/libcuda\.so\.1/);
    }));

  it('is to be had from PyPI and as an image', () => {
    expect(vllm.packages?.('0.25.1')).toEqual(['vllm==0.25.1']);
    expect(vllm.image?.('0.25.1')).toBe('vllm/vllm-openai:v0.25.1');
  });
});

describe('a running vLLM', () => {
  const signal = AbortSignal.timeout(10_000);

  it('forgets its cache, or the trial fails', async () => {
    await using ok = await engineServer({ 'POST /reset_prefix_cache': [[200, '']] });
    await vllm.resetCache?.(ok.url, signal);
    expect(ok.asked).toEqual(['POST /reset_prefix_cache']);
    await using without = await engineServer({});
    await expect(vllm.resetCache?.(without.url, signal)).rejects.toThrow(/404/);
  });

  it('tells the settings in force', async () => {
    const { 'server-info': exchange } = JSON.parse(recordedText('vllm-0.25.1/exchanges.json'));
    // The recording is cut off behind the configuration.
    const [, config] = /"vllm_config":"(.*)","vllm_env"/s.exec(exchange.raw) ?? [];
    await using server = await engineServer({ 'GET /server_info': [[200, JSON.stringify({ vllm_config: config })]] });
    expect(await vllm.effectiveSettings?.(server.url, signal)).toMatchObject({
      dtype: 'torch.bfloat16',
      max_seq_len: '40960',
      tensor_parallel_size: '1',
      quantization: 'None',
      kv_cache_dtype: 'auto',
      enable_prefix_caching: 'True',
      cudagraph_mode: 'FULL_AND_PIECEWISE',
      cudagraph_capture_sizes: expect.stringMatching(/^1, 2, 4, .*, 512$/),
    });
  });
});
