import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Ask, Facts } from '../../src/engines/engine.ts';
import { mapping, ngramMapping } from '../../src/engines/sglang/settings.ts';
import { sglang } from '../../src/engines/sglang.ts';
import type { Settings } from '../../src/records/settings.ts';
import { engineContract } from '../contracts/engine.ts';
import { engineServer } from './engine-server.ts';
import { gpus, qwen3 } from './gpus.ts';
import { flagsIn, flagsValidIn, recordedText } from './recorded.ts';
import { sglangSamples } from './sglang-samples.ts';

const command = (settings: Settings) => sglang.command({ model: 'Qwen/Qwen3-14B', port: 30000, settings });
const served = [
  'python3', '-m', 'sglang.launch_server', '--model-path', 'Qwen/Qwen3-14B', '--host', '127.0.0.1', '--port', '30000',
]; // biome-ignore format: a command line
/** What is added to the command for settings. */
const added = (settings: Settings) => command(settings).argv.slice(served.length);

engineContract(sglang, sglangSamples);

describe('the command of SGLang', () => {
  it('is what one would type, on loopback', () => {
    expect(command({})).toEqual({ argv: served, env: {} });
  });

  it('is that of the reference study', () => {
    const { argv } = command({ quantization: 'fp8', attention_backend: 'fa3' });
    expect(argv.slice(0, 5)).toEqual([...served.slice(0, 4), 'Qwen/Qwen3-14B-FP8']);
    expect(argv.slice(served.length)).toEqual(['--attention-backend', 'fa3']);
  });

  it('converts at load where no checkpoint is meant', () => {
    expect(added({ quantization: 'awq' })).toEqual([]);
    expect(added({ quantization: 'fp8_online' })).toEqual(['--quantization', 'fp8']);
    expect(sglang.checkpoint?.('Qwen/Qwen3-14B', { quantization: 'fp8_online' })).toBe('Qwen/Qwen3-14B');
  });

  it('uses SGLang’s own words', () => {
    expect(added({ kv_cache_dtype: 'fp8' })).toEqual(['--kv-cache-dtype', 'fp8_e4m3']);
    expect(added({ kv_offload_gib: 16 })).toEqual(['--enable-hierarchical-cache', '--hicache-size', '17']);
    expect(added({ prefix_caching: false, async_scheduling: false, cuda_graphs: false, chunked_prefill: false })).toEqual([
      '--disable-radix-cache', '--chunked-prefill-size=-1', '--disable-overlap-schedule', '--disable-cuda-graph',
    ]); // biome-ignore format: a command line
    const asShipped = { prefix_caching: true, async_scheduling: true, cuda_graphs: true, torch_compile: false };
    expect(added(asShipped)).toEqual([]);
  });

  it('spreads experts over the GPUs that share the model', () => {
    expect(added({ expert_parallel: true, tensor_parallel: 4 })).toEqual(['--tp-size', '4', '--ep-size', '4']);
    expect(added({ expert_parallel: false, tensor_parallel: 4 })).toEqual(['--tp-size', '4']);
  });

  it('says all numbers of speculative decoding, or none', () => {
    const drafting = { speculative_method: 'eagle3', speculative_model: 'some/draft' };
    expect(added(drafting)).toEqual([
      '--speculative-algorithm',
      'EAGLE3',
      '--speculative-draft-model-path',
      'some/draft',
    ]);
    expect(added({ ...drafting, speculative_tokens: 3 }).slice(4)).toEqual([
      '--speculative-num-steps', '3', '--speculative-eagle-topk', '1', '--speculative-num-draft-tokens', '4',
    ]); // biome-ignore format: a command line
    expect(added({ speculative_method: 'ngram', speculative_tokens: 3 })).toEqual([
      '--speculative-algorithm', 'NGRAM', '--speculative-num-draft-tokens', '4',
    ]); // biome-ignore format: a command line
  });

  it('ends with what is passed on as it stands', () => {
    expect(added({ extra_args: '--enable-mixed-chunk  --random-seed 1', dtype: 'half' })).toEqual([
      '--dtype', 'half', '--enable-mixed-chunk', '--random-seed', '1',
    ]); // biome-ignore format: a command line
  });
});

describe('the flags of SGLang', () => {
  const measuring = sglang.measuring?.({ model: 'm', port: 1, settings: {} }).argv ?? [];

  it.each([
    ['0.5.11', 'sglang-0.5.11/help/launch-help.txt'],
    ['0.5.5.post1', 'sglang-0.5.5.post1/flags.txt'],
  ])('are those that %s has', (version, path) => {
    const known = flagsIn(path);
    expect(known.size).toBeGreaterThan(250);
    const valid = [...flagsValidIn(mapping, version), ...flagsValidIn(ngramMapping, version), ...measuring];
    expect(valid.length).toBeGreaterThan(30);
    expect([...valid, '--model-path', '--host', '--port'].filter((flag) => !known.has(flag))).toEqual([]);
  });

  it('takes only values that the help of 0.5.11 offers', () => {
    const help = recordedText('sglang-0.5.11/help/launch-help.txt');
    const choices = (flag: string) => new RegExp(`^  ${flag} {(.*?)}`, 'm').exec(help)?.[1]?.split(',') ?? [];
    for (const [name, flag] of [
      ['attention_backend', '--attention-backend'],
      ['kv_cache_dtype', '--kv-cache-dtype'],
      ['dtype', '--dtype'],
      ['scheduling_policy', '--schedule-policy'],
      ['speculative_method', '--speculative-algorithm'],
    ] as const) {
      const values = sglang.settings.shape[name].unwrap().options.map((value) => added({ [name]: value }).at(-1));
      expect(values.length).toBeGreaterThan(1);
      expect(choices(flag), name).toEqual(expect.arrayContaining(values));
    }
    expect(choices('--quantization')).toContain(added({ quantization: 'fp8_online' }).at(-1));
  });

  it('prints all of them by one command', () => {
    expect(recordedText('sglang-0.5.11/help/launch-help.txt').split('\n')[0]).toContain(
      sglang.help?.join(' ') as string,
    );
  });
});

describe('what SGLang refuses', () => {
  const places = (settings: Settings, facts: Partial<Facts> = {}) =>
    sglang.conflicts(settings, { model: 'm', concurrency: 1, ...facts }).map(({ place }) => place);

  it.each([
    [{ attention_backend: 'fa3', kv_cache_dtype: 'fp8_e5m2' }, 'kv_cache_dtype'],
    [{ prefix_caching: false, kv_offload_gib: 8 }, 'kv_offload_gib'],
    [{ attention_backend: 'torch_native', cuda_graph_max_batch: 8 }, 'cuda_graph_max_batch'],
    [{ attention_backend: 'flex_attention', speculative_method: 'ngram' }, 'speculative_method'],
    [{ chunked_prefill: false, chunked_prefill_size: 4096 }, 'chunked_prefill_size'],
    [{ extra_args: '--port=1' }, 'extra_args'],
  ])('%j, whatever the GPU', (settings, place) => {
    expect(places(settings)).toEqual([place]);
  });

  it('counts GPUs and what they can', () => {
    expect(places({ attention_backend: 'trtllm_mha' }, { gpus: gpus('H100') })).toEqual(['attention_backend']);
    expect(places({ attention_backend: 'trtllm_mha' }, { gpus: gpus('B200') })).toEqual([]);
    expect(places({ attention_backend: 'fa3' }, { gpus: gpus('B200') })).toEqual(['attention_backend']);
    expect(places({ attention_backend: 'fa3' }, { gpus: gpus('A100') })).toEqual([]);
    expect(places({ quantization: 'fp8' }, { gpus: gpus('T4') })).toEqual(['quantization']);
    expect(places({ tensor_parallel: 3 }, { shape: qwen3 })).toEqual(['tensor_parallel']);
  });

  it('lets copies of attention share the GPUs of one model', () => {
    const settings = { tensor_parallel: 4, data_parallel: 4 };
    expect(places(settings, { gpus: gpus('H100', 4) })).toEqual(['tensor_parallel']);
    expect(places({ ...settings, extra_args: '--enable-dp-attention' }, { gpus: gpus('H100', 4) })).toEqual([]);
  });

  it('does not bound the sequences by the tokens of a prefill', () => {
    expect(places({ max_running_requests: 512, max_batched_tokens: 256 })).toEqual([]);
  });
});

describe('an installed SGLang', () => {
  const askWith =
    (path: string): Ask =>
    async ([name = '', ...args]) => {
      const env = { PATH: process.env.PATH, PYTHONPATH: path };
      const { status, signal, stdout, stderr } = spawnSync(name, args, { encoding: 'utf8', env });
      return { code: status, signal, stdout, stderr, timedOut: false };
    };

  it('tells its version without being imported', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'servetune-sglang-'));
    try {
      await expect(sglang.version(askWith(dir))).rejects.toThrow(/sglang/i);
      mkdirSync(join(dir, 'sglang-0.5.5.post1.dist-info'));
      const record = join(dir, 'sglang-0.5.5.post1.dist-info', 'METADATA');
      writeFileSync(record, 'Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.5.post1\n');
      expect(await sglang.version(askWith(dir))).toBe('0.5.5.post1');
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('is to be had from PyPI and as an image', () => {
    expect(sglang.packages?.('0.5.11')).toEqual(['sglang==0.5.11']);
    expect(sglang.packages?.('0.4.9')).toEqual(['sglang[all]==0.4.9']);
    expect(sglang.image?.('0.5.5.post1')).toBe('lmsysorg/sglang:v0.5.5.post1');
  });
});

describe('a running SGLang', () => {
  const signal = AbortSignal.timeout(20_000);
  const refused = [400, 'Flush cache failed.\n'] as const;

  it('forgets its cache as soon as nothing runs any more', async () => {
    await using server = await engineServer({ 'POST /flush_cache': [refused, refused, [200, 'Cache flushed.\n']] });
    await sglang.resetCache?.(server.url, signal);
    expect(server.asked).toHaveLength(3);
  });

  it('or the trial fails', async () => {
    await using busy = await engineServer({ 'POST /flush_cache': [refused] });
    await expect(sglang.resetCache?.(busy.url, signal)).rejects.toThrow(/400 Flush cache failed/);
    await using without = await engineServer({});
    await expect(sglang.resetCache?.(without.url, signal)).rejects.toThrow(/404/);
    expect(without.asked).toHaveLength(1);
  });

  it('tells the settings in force, under either name of the route', async () => {
    const info = { tp_size: 1, mem_fraction_static: 0.903, attention_backend: 'fa3', quantization: null, api_key: 'x' };
    const told = { tp_size: '1', mem_fraction_static: '0.903', attention_backend: 'fa3' };
    for (const path of ['/server_info', '/get_server_info']) {
      await using server = await engineServer({ [`GET ${path}`]: [[200, JSON.stringify(info)]] });
      expect(await sglang.effectiveSettings?.(server.url, signal)).toEqual(told);
    }
  });
});
