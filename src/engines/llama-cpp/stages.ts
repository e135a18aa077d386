import type { Settings } from '../../records/settings.ts';
import type { DefaultStage, Facts } from '../engine.ts';
import { builds, hasBuild } from './builds.ts';
import { mostSlots } from './settings.ts';

/** Numbers of slots that are tried, as far as requests come for them. */
const slotNumbers = [4, 8, 16, 32, 64, 128, mostSlots];

/**
 * What is worth trying first. Slots: they decode together. Tokens in a step: a GPU takes far more than the 512 of the
 * default, a CPU little more. A quantized cache halves what attention reads, and needs flash attention. Threads only
 * where nothing computes but the CPU: fewer than the cores, since the cores also serve HTTP.
 */
export function defaultStages({ concurrency, gpus, version }: Facts, cores: number): readonly DefaultStage[] {
  const onGpu = gpus !== undefined && gpus.length > 0;
  const stages: DefaultStage[] = [
    {
      name: 'slots',
      alternatives: slotsFor(concurrency).map((max_running_requests) => ({ max_running_requests })),
    },
    {
      name: 'batch',
      alternatives: (onGpu ? [1024, 2048, 4096] : [128, 256, 1024]).map((max_batched_tokens) => ({
        max_batched_tokens,
      })),
    },
    { name: 'attention', alternatives: [{ attention_backend: 'flash' }, { attention_backend: 'plain' }] },
    { name: 'KV cache', alternatives: [{ kv_cache_dtype: 'q8_0', attention_backend: 'flash' }] },
  ];
  if (!onGpu) stages.push({ name: 'threads', alternatives: threadsFor(cores) });
  // Nothing was put on the GPU by default in older builds; 999 is more layers than any model has.
  else if (!hasBuild(version, builds.flashTakesValue)) {
    stages.unshift({ name: 'GPU layers', alternatives: [{ gpu_layers: 999 }] });
  }
  return stages.filter(({ alternatives }) => alternatives.length > 0);
}

/** The numbers up to the first that takes every request that comes at once. */
function slotsFor(concurrency: number): readonly number[] {
  const enough = slotNumbers.findIndex((slots) => slots >= concurrency);
  return enough < 0 ? slotNumbers : slotNumbers.slice(0, enough + 1);
}

function threadsFor(cores: number): readonly Settings[] {
  const numbers = [cores - 1, Math.floor(cores / 2)].filter((threads) => threads >= 1);
  return [...new Set(numbers)].map((threads) => ({ threads }));
}
