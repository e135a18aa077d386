import { mean, median, percentile, populationSd } from '../kit/numbers.ts';
import { Sample } from '../kit/sample.ts';
import type { Distribution } from '../records/summary.ts';
import type { Fold } from './fold.ts';
import type { Metric } from './metric.ts';

/**
 * What a metric comes to over some requests: its samples reduced; everything is null when there are none. Percentiles
 * (0 to 100) are numpy's `linear`. `expected` is about how many samples there will be.
 */
export function distributionOf(
  { of }: Metric,
  percentiles: readonly number[],
  expected: number,
): Fold<Distribution> {
  const sample = new Sample(expected);
  return {
    add(record) {
      for (const valueS of of(record)) sample.add(valueS);
    },
    result: () => distribution(sample.ascending(), percentiles),
  };
}

/** Reduces numbers in ascending order. */
const distribution = (sorted: Float64Array, percentiles: readonly number[]): Distribution => ({
  n: sorted.length,
  mean: mean(sorted),
  median: median(sorted),
  sd: populationSd(sorted),
  min: sorted[0] ?? null,
  max: sorted.at(-1) ?? null,
  percentiles: Object.fromEntries(percentiles.map((p) => [String(p), percentile(sorted, p)])),
});
