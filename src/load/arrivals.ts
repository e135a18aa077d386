import { gammaDraws, numpyTwister } from '../kit/mersenne-twister.ts';

/** When requests are due. */
export interface Arrivals {
  /** Requests a second; Infinity makes all due at once. */
  readonly requestRate: number;
  /** Shape of the gamma distribution of the gaps at a finite rate: 1 is a Poisson process, Infinity even gaps. */
  readonly burstiness: number;
  /** The rate goes from the first of these to the second during the load; `requestRate` is Infinity then. */
  readonly rampUp?: {
    readonly strategy: 'linear' | 'exponential';
    readonly startRps: number;
    readonly endRps: number;
  };
  /** 0 to 2^32 - 1. */
  readonly seed: number;
}

/** Everything at once, as fast as the limit on concurrency lets it. */
export const atOnce: Arrivals = { requestRate: Number.POSITIVE_INFINITY, burstiness: 1, seed: 0 };

/** All requests are due at the start. */
export const isBurst = ({ requestRate, rampUp }: Arrivals): boolean => !Number.isFinite(requestRate) && !rampUp;

/**
 * When each of `count` requests is due, seconds after the start of the load, in ascending order. The schedule is
 * absolute: a request that goes out late does not move the next one.
 *
 * The draws are those of `vllm bench serve` for the same seed: one gamma-distributed gap before each request, from
 * numpy's legacy generator. At a constant rate the gaps are stretched so that the last request is due at
 * count / rate exactly; while ramping up they are not.
 */
export function arrivalTimes(count: number, arrivals: Arrivals): Float64Array {
  const times = new Float64Array(count);
  if (isBurst(arrivals)) return times;
  const { burstiness, seed } = arrivals;
  // Even gaps are 1 / rate, what gamma-distributed ones tend to as the shape grows.
  const even = !Number.isFinite(burstiness);
  const shape = even ? 1 : burstiness;
  const gap = even ? () => 1 : gammaDraws(numpyTwister(seed), burstiness);
  const rate = rateOf(count, arrivals);
  let sum = 0;
  for (let i = 0; i < count; i++) {
    // numpy multiplies the draw by the scale, so the order of the operations is its own.
    sum += gap() * (1 / (rate(i) * shape));
    times[i] = sum;
  }
  if (!arrivals.rampUp && sum > 0) {
    const stretch = count / arrivals.requestRate / sum;
    for (let i = 0; i < count; i++) times[i] = (times[i] as number) * stretch;
  }
  return times;
}

/** The rate at which request `i` arrives, 1/s. */
export function rateOf(count: number, { requestRate, rampUp }: Arrivals): (i: number) => number {
  if (!rampUp) return () => requestRate;
  const { strategy, startRps, endRps } = rampUp;
  const progress = (i: number): number => i / Math.max(count - 1, 1);
  return strategy === 'linear'
    ? (i) => startRps + (endRps - startRps) * progress(i)
    : (i) => startRps * (endRps / startRps) ** progress(i);
}
