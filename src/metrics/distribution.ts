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
export const eventLatenciesFold = (
  metrics: readonly Metric[],
  percentiles: readonly number[],
): Fold<Summary['latencies']> =>
  foldInto(metrics, () => {
    const sample = new CountedSample();
    return { add: (valueS) => sample.add(valueS), result: () => sample.reduce(percentiles) };
  });

/**
 * What some metrics come to over the requests that are fed, which must be ok. Percentiles are 0 to 100. `expected` is how
 * many samples each will have at most, where that is known.
 */
export const latenciesFold = (
  metrics: readonly Metric[],
  percentiles: readonly number[],
  expected?: number,
): Fold<Summary['latencies']> =>
  foldInto(metrics, () => {
    const sample = new Sample(expected);
    return { add: (valueS) => sample.add(valueS), result: () => distribution(sample.ascending(), percentiles) };
  });

/** Puts the samples of each metric into a collection of its own. */
function foldInto(
  metrics: readonly Metric[],
  collect: () => { add(valueS: number): void; result(): Distribution },
): Fold<Summary['latencies']> {
  const collections = metrics.map(({ name, of }) => ({ name, of, samples: collect() }));
  return {
    add(record) {
      for (const { of, samples } of collections) {
        for (const valueS of of(record)) samples.add(valueS);
      }
    },
    result: () => Object.fromEntries(collections.map(({ name, samples }) => [name, samples.result()])),
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
