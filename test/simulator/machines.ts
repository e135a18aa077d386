import { gpuNamed } from '../../src/hardware/gpus.ts';
import { completeShape } from '../../src/hardware/model.ts';
import { modelNamed } from '../../src/hardware/models.ts';
import type { Settings } from '../../src/records/settings.ts';
import type { Deployment } from '../../src/simulator/deployment.ts';
import { type Simulable, simulable } from '../../src/simulator/deployment.ts';
import type { Load } from '../../src/simulator/simulate.ts';

export function deployment(
  engine = 'vllm',
  settings: Settings = {},
  gpu = 'h100',
  model = 'Qwen/Qwen3-14B',
): Deployment {
  const shape = modelNamed(model)?.shape;
  const complete = shape === undefined ? null : completeShape(shape);
  const hardware = gpuNamed(gpu);
  if (complete === null || hardware === null) throw new Error(`no ${model} on ${gpu}`);
  return { configuration: { engine, settings }, shape: complete, hardware };
}

export function able(...args: Parameters<typeof deployment>): Simulable {
  const found = simulable(deployment(...args), {});
  if (typeof found === 'string') throw new Error(found);
  return found;
}

/** A burst of equal requests, or one each `everyS`. */
export const load = (
  count: number,
  prompt: number,
  output: number,
  everyS = 0,
  maxConcurrency: number | null = null,
): Load => ({
  arrivalsS: Float64Array.from({ length: count }, (_, i) => i * everyS),
  promptTokens: new Int32Array(count).fill(prompt),
  outputTokens: new Int32Array(count).fill(output),
  maxConcurrency,
});
