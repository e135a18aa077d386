import { CountedSample } from '../kit/counted-sample.ts';
import { mean, median, percentile, populationSd } from '../kit/numbers.ts';
import { Sample } from '../kit/sample.ts';
import type { Distribution, Summary } from '../records/summary.ts';
import type { Fold } from './fold.ts';
import type { Metric } from './metric.ts';

/**
 * What metrics of single events come to over the requests that are fed, which must be ok, to the microsecond; so many
 * samples would not fit into memory one by one. Percentiles are 0 to 100.
 */
export function eventLatenciesFold(
  metrics: readonly Metric[],
  percentiles: readonly number[],
): Fold<Summary['latencies']> {
  const samples = metrics.map(({ name, of }) => ({ name, of, sample: new CountedSample() }));
  return {
    add(record) {
      for (const { of, sample } of samples) {
        for (const valueS of of(record)) sample.add(valueS);
      }
    },
    result: () => Object.fromEntries(samples.map(({ name, sample }) => [name, sample.reduce(percentiles)])),
  };
}

/**
 * What some metrics come to over the requests that are fed, which must be ok. Percentiles are 0 to 100. `expected` is how
 * many samples each will have at most, where that is known.
 */
export function latenciesFold(
  metrics: readonly Metric[],
  percentiles: readonly number[],
  expected?: number,
): Fold<Summary['latencies']> {
  const samples = metrics.map(({ name, of }) => ({ name, of, sample: new Sample(expected) }));
  return {
    add(record) {
      for (const { of, sample } of samples) {
        for (const valueS of of(record)) sample.add(valueS);
      }
    },
    result: () =>
      Object.fromEntries(samples.map(({ name, sample }) => [name, distribution(sample.ascending(), percentiles)])),
  };
}

/** Reduces numbers in ascending order; everything is null when there are none. Percentiles are numpy's `linear`. */
const distribution = (sorted: Float64Array, percentiles: readonly number[]): Distribution => ({
  n: sorted.length,
  mean: mean(sorted),
  median: median(sorted),
  sd: populationSd(sorted),
  min: sorted[0] ?? null,
  max: sorted.at(-1) ?? null,
  percentiles: Object.fromEntries(percentiles.map((p) => [String(p), percentile(sorted, p)])),
});
