import { describe, expect, it } from 'vitest';
import type { DefaultStage, Facts } from '../../src/engines/engine.ts';
import { missing } from '../../src/engines/mapping.ts';
import { sglang } from '../../src/engines/sglang.ts';
import { vllm } from '../../src/engines/vllm.ts';
import { gpus, type KnownGpu, knownGpus, qwen3 } from './gpus.ts';

const facts = (card: KnownGpu, more: Partial<Facts> = {}): Facts => ({
  model: 'Qwen/Qwen3-14B',
  concurrency: 1000,
  shape: qwen3,
  gpus: gpus(card),
  ...more,
});
const values = (stages: readonly DefaultStage[] | undefined, setting: string) =>
  stages?.flatMap(({ alternatives }) => alternatives.flatMap((a) => (setting in a ? [a[setting]] : []))) ?? [];

const releases = [
  [vllm, ['0.11.0', '0.13.0', '0.25.1', undefined]],
  [sglang, ['0.5.5.post1', '0.5.11', undefined]],
] as const;

describe.each(
  releases.flatMap(([engine, versions]) => versions.map((version) => [engine.name, version, engine] as const)),
)('the default stages of %s %s', (_name, version, engine) => {
  const known = version === undefined ? {} : { version };

  it.each(knownGpus)('name only what runs on %s', (card) => {
    for (const count of [1, 2, 8]) {
      const here = facts(card, { ...known, gpus: gpus(card, count) });
      for (const { name, alternatives } of engine.defaultStages?.(here) ?? []) {
        expect(alternatives, name).not.toEqual([]);
        for (const settings of alternatives) {
          expect(engine.settings.safeParse(settings).error, name).toBeUndefined();
          expect(missing(engine.mapping ?? {}, settings, { name: engine.name, version }), name).toEqual([]);
          expect(engine.conflicts(settings, here), `${card} ${name}`).toEqual([]);
        }
      }
    }
  });

  it('begin with what changes most', () => {
    const names = engine.defaultStages?.(facts('H100', known)).map(({ name }) => name) ?? [];
    expect(names.slice(0, 3)).toEqual(['quantization', 'attention backend', 'batch']);
    expect(new Set(names).size).toBe(names.length);
  });

  it('are none where no GPU is known', () => {
    expect(engine.defaultStages?.({ model: 'm', concurrency: 64, ...known })).toEqual([]);
    expect(engine.defaultStages?.({ model: 'm', concurrency: 64, gpus: [], ...known })).toEqual([]);
  });

  it('use what a card multiplies in hardware', () => {
    const formats = (card: KnownGpu, more: Partial<Facts> = {}) =>
      values(engine.defaultStages?.(facts(card, { ...known, ...more })), 'quantization');
    expect(formats('A100')).toEqual(['awq']);
    expect(formats('H100')).toEqual(['fp8', 'awq']);
    expect(formats('B200')).toEqual(['fp8', 'awq', 'nvfp4']);
    expect(formats('V100')).toEqual([]);
    expect(formats('H100', { shape: { ...qwen3, quantization: 'fp8' } })).toEqual([]);
    const cache = (card: KnownGpu) => values(engine.defaultStages?.(facts(card, known)), 'kv_cache_dtype');
    expect(cache('A100')).toEqual([]);
    expect(cache('L40S')).toHaveLength(1);
  });

  it('spread the model over all GPUs in every way that fits its heads', () => {
    const here = facts('H100', { ...known, gpus: gpus('H100', 8), shape: { ...qwen3, attentionHeads: 20 } });
    const [parallel] = engine.defaultStages?.(here) ?? [];
    expect(parallel).toEqual({
      name: 'parallelism',
      alternatives: [
        { data_parallel: 8 },
        { tensor_parallel: 2, data_parallel: 4 },
        { tensor_parallel: 4, data_parallel: 2 },
      ],
    });
  });
});

it('try what only some versions have in those', () => {
  const of = (version: string, setting: string) => values(vllm.defaultStages?.(facts('H100', { version })), setting);
  expect(of('0.11.0', 'async_scheduling')).toEqual([true]);
  expect(of('0.25.1', 'async_scheduling')).toEqual([]);
  expect(of('0.11.0', 'performance_mode')).toEqual([]);
  expect(of('0.25.1', 'performance_mode')).toEqual(['throughput', 'interactivity']);
});

it('record larger batches only where there are so many requests', () => {
  const of = (concurrency: number) =>
    values(vllm.defaultStages?.(facts('H100', { concurrency })), 'cuda_graph_max_batch');
  expect(of(64)).toEqual([]);
  expect(of(1000)).toEqual([992]);
});
