import { expect, it } from 'vitest';
import { modelNamed } from '../../src/hardware/models.ts';
import { summarize } from '../../src/metrics/summary.ts';
import type { Gpu } from '../../src/records/gpu.ts';
import type { Settings } from '../../src/records/settings.ts';
import { judge } from '../../src/study/physics.ts';
import { record } from '../metrics/request-record.ts';

const gpu = { name: 'NVIDIA H200' } as Gpu;
const shape = modelNamed('Qwen/Qwen3-14B')?.shape ?? null;

/** So many requests of 100 tokens each, a token every `gapS`. */
function judged(count: number, gapS: number, settings: Settings = {}, gpus: readonly Gpu[] = [gpu], known = shape) {
  const records = Array.from({ length: count }, (_, index) => record({ index, sendS: 0, tokens: 100, gapS }));
  const summary = summarize(records, { asked: count, percentiles: [] });
  return judge({ engine: 'vllm', settings }, { shape: known, gpus }, { records, summary, maxConcurrency: null });
}

it('lets through what the GPU can do, and says how much more it could', () => {
  const found = judged(16, 0.012);
  expect(found?.problems).toEqual([]);
  expect(found?.ceiling).toMatchObject({ bound: 'memory', hardware: 'H200' });
  expect(found?.ceiling?.totalTokensPerS).toBeGreaterThan(16 / 0.012);
});

it('refuses tokens that come sooner than weights can be read, and more of them than the GPU can compute', () => {
  // 29.5 GB at 4.8 TB/s take 5.8 ms.
  expect(judged(4, 0.003)?.problems.join()).toMatch(/weights/);
  expect(judged(20_000, 0.012)?.problems.join()).toMatch(/can do at most/);
});

it('counts drafts, copies of the model and GPUs that share one', () => {
  expect(judged(4, 0.003, { speculative_method: 'ngram', speculative_tokens: 3 })?.problems).toEqual([]);
  expect(judged(4, 0.004, { tensor_parallel: 2 })?.problems).toEqual([]);
  const one = judged(64, 0.02)?.ceiling?.totalTokensPerS ?? 0;
  expect(judged(64, 0.02, { data_parallel: 2 })?.ceiling?.totalTokensPerS).toBeCloseTo(2 * one, 3);
});

it('says nothing where it does not know enough', () => {
  expect(judged(4, 0.003, {}, [])).toBeNull();
  expect(judged(4, 0.003, {}, [{ name: 'Some GPU' } as Gpu])).toBeNull();
  expect(judged(4, 0.003, {}, [gpu], null)).toBeNull();
  expect(judged(4, 0.003, { quantization: 'a new one' })).toBeNull();
});
