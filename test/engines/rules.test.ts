import { describe, expect, it } from 'vitest';
import { checkpointOf } from '../../src/engines/checkpoints.ts';
import type { Facts } from '../../src/engines/engine.ts';
import { batchProblems, extraArgs, extraArgsProblems, gpuConflicts, noGpu } from '../../src/engines/rules.ts';
import type { Settings } from '../../src/records/settings.ts';
import { gpus, qwen3 } from './gpus.ts';

const nothingKnown: Facts = { model: 'm', concurrency: 1 };
const places = (settings: Settings, facts: Partial<Facts> = {}): string[] =>
  gpuConflicts(settings, { ...nothingKnown, ...facts }).map(({ place }) => place);

describe('GPUs that share a model', () => {
  it('must divide its attention heads', () => {
    expect(places({ tensor_parallel: 3 }, { shape: qwen3 })).toEqual(['tensor_parallel']);
    for (const n of [1, 2, 4, 5, 8]) expect(places({ tensor_parallel: n }, { shape: qwen3 })).toEqual([]);
  });

  it('must be there', () => {
    expect(places({ tensor_parallel: 4 }, { gpus: gpus('H100', 2) })).toEqual(['tensor_parallel']);
    expect(places({ tensor_parallel: 2, data_parallel: 4 }, { gpus: gpus('H100', 4) })).toEqual(['data_parallel']);
    expect(places({ tensor_parallel: 2, data_parallel: 2 }, { gpus: gpus('H100', 4) })).toEqual([]);
    expect(places({ pipeline_parallel: 2 }, { gpus: gpus('H100') })).toEqual(['pipeline_parallel']);
  });

  it('must divide the GPUs, so that none stays idle', () => {
    const [problem] = gpuConflicts({ tensor_parallel: 3 }, { ...nothingKnown, gpus: gpus('H100', 8) });
    expect(problem).toMatchObject({ place: 'tensor_parallel' });
    expect(problem?.message).toContain('2 would stay idle');
  });

  it('have experts to spread only in a mixture of experts', () => {
    expect(places({ expert_parallel: true }, { shape: qwen3 })).toEqual(['expert_parallel']);
    expect(places({ expert_parallel: true }, { shape: { ...qwen3, experts: 128 } })).toEqual([]);
  });
});

describe('the model', () => {
  it('bounds the context', () => {
    expect(places({ context_length: 40961 }, { shape: qwen3 })).toEqual(['context_length']);
    expect(places({ context_length: 40960 }, { shape: qwen3 })).toEqual([]);
  });

  it('is not converted twice', () => {
    const shape = { ...qwen3, quantization: 'awq' };
    expect(places({ quantization: 'fp8_online' }, { shape })).toEqual(['quantization']);
    expect(places({ quantization: 'fp8_online' }, { shape: qwen3 })).toEqual([]);
  });
});

describe('what kernels need of a GPU', () => {
  const needs = {
    quantization: { fp8: [{ before: '2.0', from: 89 }, { from: 75 }] },
    attention: { fa3: [{ from: 90, below: 100 }] },
    fp8Cache: { fa3: [{ from: 90, below: 100 }], flex: [noGpu], default: [{ from: 89 }] },
  };
  const messages = (settings: Settings, facts: Partial<Facts>): string[] =>
    gpuConflicts(settings, { ...nothingKnown, ...facts }, needs).map(({ place, message }) => `${place}: ${message}`);

  it('depends on the version, the newest where it is not known', () => {
    expect(messages({ quantization: 'fp8' }, { gpus: gpus('A100'), version: '1.9' })).toEqual([
      'quantization: fp8 needs compute capability 8.9 or newer, NVIDIA A100-SXM4-80GB has 8.0',
    ]);
    expect(messages({ quantization: 'fp8' }, { gpus: gpus('A100'), version: '2.0' })).toEqual([]);
    expect(messages({ quantization: 'fp8' }, { gpus: gpus('A100') })).toEqual([]);
  });

  it('holds for every one of the GPUs', () => {
    expect(messages({ attention_backend: 'fa3' }, { gpus: [...gpus('H100'), ...gpus('A100')] })).toHaveLength(1);
    expect(messages({ attention_backend: 'fa3' }, { gpus: gpus('B200') })[0]).toContain(
      '9.0 or newer and older than 10.0',
    );
  });

  it('asks of an FP8 KV cache what its reader needs', () => {
    const facts = { gpus: gpus('A100') };
    expect(messages({ kv_cache_dtype: 'fp8' }, facts)).toHaveLength(1);
    expect(messages({ kv_cache_dtype: 'fp8_e4m3', attention_backend: 'other' }, facts)).toEqual([]);
    expect(messages({ kv_cache_dtype: 'auto' }, facts)).toEqual([]);
    expect(messages({ kv_cache_dtype: 'fp8', attention_backend: 'flex' }, {})).toEqual([
      'kv_cache_dtype: an FP8 KV cache with attention backend flex works on no GPU',
    ]);
  });
});

it('never refuses for what it does not know', () => {
  const everything = {
    tensor_parallel: 3,
    data_parallel: 5,
    expert_parallel: true,
    context_length: 10 ** 9,
    quantization: 'fp8_online',
    attention_backend: 'fa3',
    kv_cache_dtype: 'fp8',
  };
  const needs = {
    quantization: { fp8_online: [{ from: 999 }] },
    attention: { fa3: [{ from: 999 }] },
    fp8Cache: { fa3: [{ from: 999 }] },
  };
  const unknown: Facts[] = [
    nothingKnown,
    { ...nothingKnown, gpus: [] },
    { ...nothingKnown, gpus: gpus('H100', 15).map((gpu) => ({ ...gpu, computeCapability: null })) },
    { ...nothingKnown, gpus: gpus('MI300X', 15) },
  ];
  for (const facts of unknown) expect(gpuConflicts(everything, facts, needs)).toEqual([]);
});

it.each([
  [{ cuda_graphs: false, cuda_graph_max_batch: 8 }, ['cuda_graph_max_batch']],
  [{ cuda_graphs: true, cuda_graph_max_batch: 8 }, []],
  [{ chunked_prefill: false, chunked_prefill_size: 8 }, ['chunked_prefill_size']],
  [{ speculative_tokens: 3, speculative_model: 'm' }, ['speculative_model', 'speculative_tokens']],
  [{ speculative_method: 'eagle3', speculative_tokens: 3 }, ['speculative_method']],
  [{ speculative_method: 'eagle3', speculative_model: 'm', speculative_tokens: 3 }, []],
  [{ speculative_method: 'mtp' }, []],
] as const)('finds what contradicts itself in %j', (settings, expected) => {
  expect(places(settings)).toEqual(expected);
});

it('wants a token a step for each sequence', () => {
  expect(batchProblems({ max_running_requests: 512, max_batched_tokens: 256 })).toHaveLength(1);
  expect(batchProblems({ max_running_requests: 512, max_batched_tokens: 512 })).toEqual([]);
  expect(batchProblems({ max_running_requests: 512 })).toEqual([]);
});

describe('extra arguments', () => {
  it('are split as a shell would', () => {
    expect(extraArgs({ extra_args: `--a 1  --b='x y' "c d"` })).toEqual(['--a', '1', '--b=x y', 'c d']);
    expect(extraArgs({})).toEqual([]);
  });

  it('cannot set what servetune sets', () => {
    const found = extraArgsProblems({ extra_args: '--host=0.0.0.0 --portable --port 1' }, ['--host', '--port']);
    expect(found.map(({ message }) => message.split(' ')[0])).toEqual(['--host', '--port']);
  });

  it('must be whole', () => {
    expect(extraArgsProblems({ extra_args: `--a 'b` }, [])).toHaveLength(1);
  });
});

it.each([
  ['Qwen/Qwen3-14B', 'fp8', 'Qwen/Qwen3-14B-FP8'],
  ['Qwen/Qwen3-14B', 'awq', 'Qwen/Qwen3-14B-AWQ'],
  ['Qwen/Qwen3-14B', 'gptq_int4', 'Qwen/Qwen3-14B-GPTQ-Int4'],
  ['Qwen/Qwen3-14B', 'nvfp4', 'nvidia/Qwen3-14B-NVFP4'],
  ['Qwen/Qwen3-14B', 'fp8_online', 'Qwen/Qwen3-14B'],
  ['Qwen/Qwen3-14B', undefined, 'Qwen/Qwen3-14B'],
  ['Qwen/Qwen3-14B-FP8', 'fp8', 'Qwen/Qwen3-14B-FP8'],
  ['Qwen/Qwen3-14B-AWQ', 'fp8', 'Qwen/Qwen3-14B-FP8'],
  ['/models/Qwen3-14B/', 'fp8', '/models/Qwen3-14B-FP8'],
  ['/models/Qwen3-14B', 'nvfp4', '/models/Qwen3-14B-NVFP4'],
  ['./Qwen3-14B', 'nvfp4', './Qwen3-14B-NVFP4'],
])('%s with quantization %s is %s', (model, quantization, checkpoint) => {
  expect(checkpointOf(model, quantization)).toBe(checkpoint);
});
