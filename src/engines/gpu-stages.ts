import type { GpuClass } from '../records/gpu.ts';
import { gpuClass } from '../records/gpu.ts';
import type { Settings, SettingValue } from '../records/settings.ts';
import type { DefaultStage, Facts } from './engine.ts';

/** What all GPUs of a machine have in common, as far as it decides what is worth trying. */
export interface CommonGpu extends GpuClass {
  readonly count: number;
  /** Lowest compute capability; null where it is no NVIDIA GPU or not known. */
  readonly capability: number | null;
  /** Of the smallest. */
  readonly memoryGiB: number;
  /** A100 counts as a small GPU in vLLM, whatever its memory. */
  readonly a100: boolean;
}

/** Undefined where no GPU is known: then nothing can be said of what it could do. */
export function commonGpu({ gpus = [] }: Facts): CommonGpu | undefined {
  if (gpus.length === 0) return undefined;
  const classes = gpus.map(gpuClass);
  const capabilities = gpus.map(({ vendor, computeCapability }) => (vendor === 'nvidia' ? computeCapability : null));
  return {
    count: gpus.length,
    capability: capabilities.includes(null) ? null : Math.min(...(capabilities as number[])),
    memoryGiB: Math.min(...gpus.map(({ memoryMiB }) => memoryMiB)) / 1024,
    a100: gpus.some(({ name }) => /\bA100\b/.test(name)),
    fp8: classes.every(({ fp8 }) => fp8),
    fa3: classes.every(({ fa3 }) => fa3),
    fp4: classes.every(({ fp4 }) => fp4),
  };
}

/** One alternative for each value of a setting. */
export const valuesOf = (name: string, values: readonly SettingValue[]): readonly Settings[] =>
  values.map((value) => ({ [name]: value }));

/** Stages that have something to try. */
export const filled = (stages: readonly DefaultStage[]): readonly DefaultStage[] =>
  stages.filter(({ alternatives }) => alternatives.length > 0);

/**
 * Checkpoints in the formats that the GPUs multiply in hardware, and 4-bit weights everywhere: less is read for each
 * token. Nothing for a model that is quantized already.
 */
export function quantizationStage(gpu: CommonGpu, { shape }: Facts): DefaultStage {
  const values = [...(gpu.fp8 ? ['fp8'] : []), ...(gpu.capability !== null && gpu.capability >= 80 ? ['awq'] : [])];
  if (gpu.fp4) values.push('nvfp4');
  return { name: 'quantization', alternatives: shape?.quantization == null ? valuesOf('quantization', values) : [] };
}

/**
 * All GPUs, as copies of the model and as parts of one copy: every power of two that divides their number and the
 * model's attention heads.
 */
export function parallelStage(gpu: CommonGpu, { shape }: Facts): DefaultStage {
  const heads = shape?.attentionHeads ?? 0;
  const alternatives: Settings[] = [];
  for (let tensor = 1; gpu.count > 1 && tensor <= gpu.count; tensor *= 2) {
    if (gpu.count % tensor !== 0 || heads % tensor !== 0) continue;
    const copies = gpu.count / tensor;
    alternatives.push({
      ...(tensor === 1 ? {} : { tensor_parallel: tensor }),
      ...(copies === 1 ? {} : { data_parallel: copies }),
    });
  }
  if (gpu.count > 1 && shape && shape.experts > 0 && heads % gpu.count === 0) {
    alternatives.push({ tensor_parallel: gpu.count, expert_parallel: true });
  }
  return { name: 'parallelism', alternatives };
}

/** The smallest power of two that is not below `value`. */
export const powerOfTwo = (value: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, value)));
