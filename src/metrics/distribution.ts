import { ascending, mean, median, percentile, populationSd } from '../kit/numbers.ts';
import type { Distribution } from '../records/summary.ts';

/** Reduces a sample, in any order; everything is null when it is empty. Percentiles (0 to 100) are numpy's `linear`. */
export function distribution(sample: readonly number[], percentiles: readonly number[]): Distribution {
  const sorted = ascending(sample);
  return {
    n: sorted.length,
    mean: mean(sorted),
    median: median(sorted),
    sd: populationSd(sorted),
    min: sorted[0] ?? null,
    max: sorted.at(-1) ?? null,
    percentiles: Object.fromEntries(percentiles.map((p) => [String(p), percentile(sorted, p)])),
  };
}
