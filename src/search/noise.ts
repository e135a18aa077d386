import { studentQuantile } from '../kit/student-t.ts';

/**
 * What is believed about run-to-run noise before anything was repeated: a relative standard deviation of 4 %, worth
 * four repeats. Published re-runs of one command differ by 1 to 19 %; without such a prior two equal single runs would
 * count as proof of equality, and two different ones as proof of difference.
 */
const prior = { sd: 0.04, degreesOfFreedom: 4 };

/** Confidence of every interval in a study. */
export const confidence = 0.95;

export interface Noise {
  /** Relative standard deviation of one measurement (of the logarithm, which is the same for small values). */
  readonly sd: number;
  /** Of `sd`: those of the repeats and those of the prior. */
  readonly degreesOfFreedom: number;
  /** Repeats beyond the first, summed over configurations: what the estimate rests on beside the prior. */
  readonly repeats: number;
}

/**
 * Pools the spread of repeats over all configurations (they share the machine and the client), shrunk towards the prior:
 * s² = (d0·s0² + Σ(x − mean of its group)²) / (d0 + Σ(n − 1)). This is the moderated variance of Smyth (2004),
 * "Linear models and empirical Bayes methods".
 *
 * @param groups one array a configuration: scores of its repeats, in log units
 */
export function estimateNoise(groups: readonly (readonly number[])[]): Noise {
  let squares = prior.degreesOfFreedom * prior.sd ** 2;
  let repeats = 0;
  for (const group of groups) {
    if (group.length < 2) continue;
    const centre = group.reduce((a, b) => a + b, 0) / group.length;
    for (const value of group) squares += (value - centre) ** 2;
    repeats += group.length - 1;
  }
  const degreesOfFreedom = prior.degreesOfFreedom + repeats;
  return { sd: Math.sqrt(squares / degreesOfFreedom), degreesOfFreedom, repeats };
}

/** How one configuration compares with another on the objective. */
export interface Comparison {
  /** Better-is-larger ratio of the geometric means; 1.27 means 27 % better, whatever the metric's direction. */
  readonly ratio: number;
  /** 95 % interval of the ratio. */
  readonly low: number;
  readonly high: number;
  /** The interval excludes 1. */
  readonly significant: boolean;
}

/**
 * Compares two samples of scores (log units, larger is better): challenger over incumbent. Student's t with the pooled
 * noise; the interval of the log-ratio is d ± t·s·√(1/n₁ + 1/n₂).
 */
export function compareScores(challenger: readonly number[], incumbent: readonly number[], noise: Noise): Comparison {
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
  const difference = mean(challenger) - mean(incumbent);
  const margin =
    studentQuantile(1 - confidence, noise.degreesOfFreedom) *
    noise.sd *
    Math.sqrt(1 / challenger.length + 1 / incumbent.length);
  return {
    ratio: Math.exp(difference),
    low: Math.exp(difference - margin),
    high: Math.exp(difference + margin),
    significant: Math.abs(difference) > margin,
  };
}
