import type { Gpu } from '../../src/records/gpu.ts';
import type { ModelShape } from '../../src/records/model-shape.ts';

const known = {
  V100: { name: 'Tesla V100-SXM2-32GB', computeCapability: 70, memoryMiB: 32768 },
  T4: { name: 'Tesla T4', computeCapability: 75, memoryMiB: 15360 },
  A100: { name: 'NVIDIA A100-SXM4-80GB', computeCapability: 80, memoryMiB: 81920 },
  L40S: { name: 'NVIDIA L40S', computeCapability: 89, memoryMiB: 46068 },
  H100: { name: 'NVIDIA H100 80GB HBM3', computeCapability: 90, memoryMiB: 81559 },
  B200: { name: 'NVIDIA B200', computeCapability: 100, memoryMiB: 183359 },
  RTX5090: { name: 'NVIDIA GeForce RTX 5090', computeCapability: 120, memoryMiB: 32607 },
  MI300X: { name: 'AMD Instinct MI300X', computeCapability: null, memoryMiB: 196592 },
} as const;

export type KnownGpu = keyof typeof known;
export const knownGpus = Object.keys(known) as KnownGpu[];

/** So many of a card that exists. */
export const gpus = (card: KnownGpu, count = 1): Gpu[] =>
  Array.from({ length: count }, (_, index) => ({
    vendor: card === 'MI300X' ? 'amd' : 'nvidia',
    index,
    uuid: `GPU-${index}`,
    driver: '580.159.04',
    powerLimitW: null,
    ...known[card],
  }));

/** Qwen/Qwen3-14B. */
export const qwen3: ModelShape = {
  attentionHeads: 40,
  kvHeads: 8,
  layers: 40,
  hiddenSize: 5120,
  maxPositions: 40960,
  experts: 0,
  quantization: null,
};
