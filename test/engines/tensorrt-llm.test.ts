import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { measuring } from '../../src/engines/tensorrt-llm/settings.ts';
import { defaultStages } from '../../src/engines/tensorrt-llm/stages.ts';
import { tensorrtLlm } from '../../src/engines/tensorrt-llm.ts';
import type { RunResult } from '../../src/processes/run.ts';
import type { Gpu } from '../../src/records/gpu.ts';
import type { Settings } from '../../src/records/settings.ts';
import { engineContract } from '../contracts/engine.ts';

const recorded = resolve(import.meta.dirname, '../fixtures/engines/tensorrt-llm');
const lines = (file: string): readonly string[] => readFileSync(join(recorded, file), 'utf8').trim().split('\n');

const old = '1.2.0rc1';
const launch = (settings: Settings = {}, version = old) => ({
  model: 'Qwen/Qwen3-14B',
  port: 8000,
  settings,
  version,
});
const command = (settings?: Settings, version?: string) => tensorrtLlm.command(launch(settings, version));
const options = (settings: Settings, version?: string): Record<string, unknown> =>
  parse(command(settings, version).files?.['trtllm.yaml'] ?? '') as Record<string, unknown>;

const everything: Settings = {
  quantization: 'fp8',
  dtype: 'bfloat16',
  attention_backend: 'flashinfer',
  kv_cache_dtype: 'fp8',
  max_running_requests: 256,
  max_batched_tokens: 16384,
  context_length: 40960,
  gpu_memory_fraction: 0.95,
  kv_block_size: 64,
  kv_offload_gib: 20,
  prefix_caching: false,
  chunked_prefill: true,
  scheduling_policy: 'max_utilization',
  async_scheduling: false,
  tensor_parallel: 2,
  pipeline_parallel: 2,
  expert_parallel: true,
  cuda_graphs: false,
  cuda_graph_max_batch: 256,
  torch_compile: true,
  speculative_method: 'eagle3',
  speculative_model: 'a/head',
  speculative_tokens: 3,
  stream_interval: 4,
  extra_args: '--num_postprocess_workers 2',
};

const gpu = (computeCapability: number, name = 'a GPU'): Gpu => ({
  vendor: 'nvidia',
  index: 0,
  uuid: 'GPU-0',
  name,
  memoryMiB: 80_000,
  computeCapability,
  driver: '580',
  powerLimitW: 700,
});

engineContract(tensorrtLlm, everything);

describe('the command of TensorRT-LLM', () => {
  it('is the bare one where nothing is set, without a file', () => {
    expect(command()).toEqual({
      argv: ['trtllm-serve', 'Qwen/Qwen3-14B', '--host', '127.0.0.1', '--port', '8000'],
      env: {},
    });
  });

  it('is the one of the reference study', () => {
    const { argv, files } = command({ context_length: 40960, chunked_prefill: true });
    expect(argv.slice(6)).toEqual(['--max_seq_len', '40960', '--enable_chunked_prefill']);
    expect(files).toBeUndefined();
    expect(command({ quantization: 'fp8' }).argv[1]).toBe('Qwen/Qwen3-14B-FP8');
  });

  it('puts what has no flag into a file beside it', () => {
    const { argv } = command({ kv_cache_dtype: 'fp8', max_running_requests: 64 });
    expect(argv.slice(6)).toEqual(['--max_batch_size', '64', '--extra_llm_api_options', 'trtllm.yaml']);
    expect(options({ kv_cache_dtype: 'fp8', gpu_memory_fraction: 0.8, prefix_caching: false })).toEqual({
      kv_cache_config: { dtype: 'fp8', free_gpu_memory_fraction: 0.8, enable_block_reuse: false },
    });
    expect(options({ cuda_graphs: false, torch_compile: true, async_scheduling: false })).toEqual({
      cuda_graph_config: null,
      torch_compile_config: {},
      disable_overlap_scheduler: true,
    });
    expect(options({ kv_offload_gib: 2 })).toEqual({ kv_cache_config: { host_cache_size: 2_147_483_648 } });
  });

  it('spreads the experts over the GPUs that share a layer', () => {
    expect(command({ tensor_parallel: 8, expert_parallel: true }).argv.slice(6)).toEqual([
      '--tp_size', '8', '--ep_size', '8',
    ]); // biome-ignore format: a command line
    expect(command({ tensor_parallel: 8, expert_parallel: true }, '1.3.0rc25').argv.slice(6)).toEqual([
      '--tensor_parallel_size', '8', '--moe_expert_parallel_size', '8',
    ]); // biome-ignore format: a command line
  });

  it('names what drafts as each version does', () => {
    const eagle = { speculative_method: 'eagle3', speculative_model: 'a/head', speculative_tokens: 3 };
    expect(options(eagle)).toEqual({
      speculative_config: { decoding_type: 'Eagle', speculative_model_dir: 'a/head', max_draft_len: 3 },
    });
    expect(options(eagle, '1.3.0rc25')).toEqual({
      speculative_config: { decoding_type: 'Eagle3', speculative_model: 'a/head', max_draft_len: 3 },
    });
    expect(options({ speculative_method: 'mtp', speculative_tokens: 2 })).toEqual({
      speculative_config: { decoding_type: 'MTP', num_nextn_predict_layers: 2 },
    });
    expect(options({ speculative_method: 'ngram', speculative_tokens: 5 })).toEqual({
      speculative_config: { decoding_type: 'NGram', max_draft_len: 5, max_matching_ngram_size: 2 },
    });
  });

  it.each([
    [old, 'serve-flags-1.2.0rc1.txt'],
    ['1.4.0rc1', 'serve-flags-2026.txt'],
  ])('has no flag that %s does not have', (version, file) => {
    const flags = command(everything, version).argv.filter((word) => word.startsWith('--'));
    expect(flags.length).toBeGreaterThan(10);
    expect(flags.filter((flag) => !lines(file).includes(flag))).toEqual([]);
  });

  it('has no key in its file that 1.2.0rc1 would refuse', () => {
    const known = JSON.parse(lines('option-keys-1.2.0rc1.json').join('')) as Record<string, readonly string[] | null>;
    const told = [
      options({ ...everything, cuda_graphs: true }),
      options({ speculative_method: 'ngram', speculative_tokens: 5 }),
      options({ speculative_method: 'mtp', speculative_tokens: 1 }),
      parse(measuring(launch()).files['trtllm.yaml'] ?? '') as Record<string, unknown>,
    ].flatMap((all) =>
      Object.entries(all).flatMap(([key, value]) =>
        known[key] === null ? [key] : Object.keys(value as object).map((below) => `${key}.${below}`),
      ),
    );
    const allowed = Object.entries(known).flatMap(([key, below]) => below?.map((b) => `${key}.${b}`) ?? [key]);
    expect(told.length).toBeGreaterThan(15);
    expect(told.filter((key) => !allowed.includes(key))).toEqual([]);
  });

  it('turns its statistics on for measuring, on top of the options', () => {
    expect(measuring(launch())).toEqual({
      argv: ['--extra_llm_api_options', 'trtllm.yaml'],
      env: {},
      files: { 'trtllm.yaml': 'enable_iter_perf_stats: true\n' },
    });
    const { argv, files } = measuring(launch({ kv_cache_dtype: 'fp8' }));
    expect(argv).toEqual([]);
    expect(parse(files['trtllm.yaml'] ?? '')).toEqual({
      kv_cache_config: { dtype: 'fp8' },
      enable_iter_perf_stats: true,
    });
    expect(measuring(launch({}, '1.4.0rc1')).argv).toEqual(['--config', 'trtllm.yaml']);
  });
});

describe('what TensorRT-LLM cannot do', () => {
  const places = (settings: Settings, gpus: readonly Gpu[] = [gpu(90)]): readonly string[] =>
    tensorrtLlm.conflicts(settings, { model: 'm', concurrency: 1, version: old, gpus }).map(({ place }) => place);

  it('knows the GPUs that each number format needs', () => {
    expect(places({ quantization: 'fp8', kv_cache_dtype: 'fp8' })).toEqual([]);
    expect(places({ quantization: 'fp8' }, [gpu(80, 'NVIDIA A100')])).toEqual(['quantization']);
    expect(places({ quantization: 'awq' }, [gpu(100)])).toEqual(['quantization']);
    expect(places({ kv_cache_dtype: 'fp8' }, [gpu(75)])).toEqual(['kv_cache_dtype']);
    expect(places({ kv_cache_dtype: 'nvfp4' })).toEqual(['kv_cache_dtype']);
    expect(places({ kv_cache_dtype: 'nvfp4' }, [gpu(100)])).toEqual([]);
  });

  it('runs on no other maker’s GPUs', () => {
    const mi300: Gpu = { ...gpu(0, 'AMD MI300X'), vendor: 'amd', computeCapability: null };
    expect(places({}, [mi300])).toEqual(['engine']);
  });

  it('wants to know how much is drafted', () => {
    expect(places({ speculative_method: 'ngram' })).toEqual(['speculative_method']);
    expect(places({ speculative_method: 'mtp' })).toEqual([]);
  });

  it('keeps its own flags for itself', () => {
    expect(places({ extra_args: '--config mine.yaml' })).toEqual(['extra_args']);
  });
});

describe('the version of TensorRT-LLM', () => {
  const answer = (code: number, stdout: string, stderr = ''): RunResult => ({
    code,
    signal: null,
    stdout,
    stderr,
    timedOut: false,
  });

  it('is that of the package', async () => {
    const asked: string[][] = [];
    const version = await tensorrtLlm.version(async (argv) => {
      asked.push([...argv]);
      return answer(0, 'a greeting of the image\n1.2.0rc1\n');
    });
    expect(version).toBe('1.2.0rc1');
    expect(asked[0]?.[0]).toBe('python3');
    expect(asked[0]?.join(' ')).not.toContain('import tensorrt_llm');
  });

  it('is missed with a remedy', async () => {
    const ask = async () => answer(1, '', 'Traceback\nPackageNotFoundError: No package metadata was found\n');
    await expect(tensorrtLlm.version(ask)).rejects.toThrow('No package metadata');
  });

  it('has a package and an image', () => {
    expect(tensorrtLlm.packages?.(old)).toEqual(['tensorrt-llm==1.2.0rc1']);
    expect(tensorrtLlm.image?.(old)).toBe('nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc1');
  });
});

describe('the default stages of TensorRT-LLM', () => {
  const facts = { model: 'm', concurrency: 512, version: old };

  it('fit the GPU', () => {
    const names = (gpus: readonly Gpu[]) => defaultStages({ ...facts, gpus }).map(({ name }) => name);
    expect(names([gpu(90)])).toEqual(['quantization', 'batch', 'CUDA graphs', 'scheduling', 'KV cache']);
    expect(names([gpu(80), gpu(80)])).toEqual(['parallelism', 'batch', 'CUDA graphs', 'scheduling', 'KV cache']);
  });

  it('share a layer between as many GPUs as divide them', () => {
    const sizes = (count: number) =>
      defaultStages({ ...facts, gpus: Array.from({ length: count }, () => gpu(80)) })
        .find(({ name }) => name === 'parallelism')
        ?.alternatives.map(({ tensor_parallel }) => tensor_parallel);
    expect(sizes(8)).toEqual([2, 4, 8]);
    expect(sizes(6)).toEqual([2]);
    expect(sizes(3)).toBeUndefined();
  });

  it.each([80, 89, 90, 100])('hold nothing that a GPU of %d refuses', (capability) => {
    const place = { ...facts, gpus: [gpu(capability), gpu(capability)] };
    for (const { alternatives } of defaultStages(place)) {
      for (const settings of alternatives) {
        expect(tensorrtLlm.settings.safeParse(settings).error).toBeUndefined();
        expect(tensorrtLlm.conflicts(settings, place)).toEqual([]);
      }
    }
  });
});
