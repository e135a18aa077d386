import { createRandom } from '../../kit/random.ts';
import type { EngineSpec } from '../../simulator/engine.ts';

/**
 * Standard deviation of the logarithm by which two runs of one command differ here, in the GPU's rates and in the engine's
 * own costs. A choice, not a fit: published re-runs differ by 7 to 19 %, other programs and hot rooms among their causes;
 * what is left on a quiet machine is a few per cent. Larger, it would hide what the model says of two configurations.
 */
const spread = 0.02;

/** The same engine on another day: repeats of a trial differ, and the same trial is always the same. */
export function onThatDay(spec: EngineSpec, seed: number, trial: number): EngineSpec {
  const random = createRandom([seed, trial]);
  const factor = (): number => Math.exp(spread * normal(random.random(), random.random()));
  const [gpu, program] = [factor(), factor()];
  const { rates, costs } = spec;
  return {
    ...spec,
    rates: {
      layerFlopPerS: rates.layerFlopPerS * gpu,
      headFlopPerS: rates.headFlopPerS * gpu,
      weightBytesPerS: rates.weightBytesPerS * gpu,
      prefillFlopPerS: rates.prefillFlopPerS * gpu,
      kvBytesPerS: rates.kvBytesPerS * gpu,
      mixedKvBytesPerS: rates.mixedKvBytesPerS * gpu,
    },
    costs: {
      ...costs,
      stepS: costs.stepS * program,
      requestS: costs.requestS * program,
      launchS: costs.launchS * program,
    },
  };
}

/** A standard normal value from two uniform ones in [0, 1): Box and Muller 1958. */
const normal = (u: number, v: number): number => Math.sqrt(-2 * Math.log(1 - u)) * Math.cos(2 * Math.PI * v);
