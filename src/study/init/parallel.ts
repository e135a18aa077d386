import type { Gpu } from '../../records/gpu.ts';
import type { ModelShape } from '../../records/model-shape.ts';

/** Share of a GPU's memory that weights may take, so that a KV cache and the work itself have room beside them. */
export const weightShare = 0.8;

/**
 * GPUs that must share one copy of a model so that it fits: the fewest that divide its attention heads. 1 where one is
 * enough, and where nothing is known; all that there are where none would do.
 */
export function neededGpus({
  gpus,
  shape,
  weightBytes,
}: {
  readonly gpus?: readonly Pick<Gpu, 'memoryMiB'>[];
  readonly shape?: Pick<ModelShape, 'attentionHeads'>;
  readonly weightBytes?: number;
}): number {
  if (gpus === undefined || gpus.length === 0 || weightBytes === undefined) return 1;
  const room = weightShare * Math.min(...gpus.map(({ memoryMiB }) => memoryMiB)) * 1024 ** 2;
  const divides = (count: number): boolean => shape === undefined || shape.attentionHeads % count === 0;
  const counts = gpus.map((_, i) => i + 1).filter(divides);
  return counts.find((count) => weightBytes <= count * room) ?? counts.at(-1) ?? 1;
}
