/** Mean of the values, or null of none. */
export function mean(values: ArrayLike<number>): number | null {
  if (values.length === 0) return null;
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] as number;
  return sum / values.length;
}

/** Population standard deviation (ddof 0, numpy's default), or null of none. */
export function populationSd(values: ArrayLike<number>): number | null {
  const m = mean(values);
  if (m === null) return null;
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += ((values[i] as number) - m) ** 2;
  return Math.sqrt(sum / values.length);
}

/** The values in ascending order, as a new array. */
export const ascending = (values: ArrayLike<number>): Float64Array => Float64Array.from(values).sort();

/**
 * Percentile `p` (0 to 100) of values **in ascending order**, by numpy's default method `linear`, including its choice
 * of the end from which it interpolates. Null of none.
 */
export const percentile = (sorted: ArrayLike<number>, p: number): number | null =>
  percentileOf(sorted.length, (i) => sorted[i] as number, p);

/** The same, of `n` values of which `at` gives the one with a rank, from 0. */
export function percentileOf(n: number, at: (rank: number) => number, p: number): number | null {
  if (n === 0) return null;
  const h = ((n - 1) * p) / 100;
  const i = Math.min(Math.floor(h), n - 1);
  const a = at(i);
  const b = at(Math.min(i + 1, n - 1));
  const t = h - i;
  return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

/** Median of values **in ascending order**: the middle one, or the mean of the two middle ones. Null of none. */
export function median(sorted: ArrayLike<number>): number | null {
  const n = sorted.length;
  if (n === 0) return null;
  const upper = sorted[n >> 1] as number;
  return n % 2 === 1 ? upper : ((sorted[(n >> 1) - 1] as number) + upper) / 2;
}
