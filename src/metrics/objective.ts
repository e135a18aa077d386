import type { ObjectiveMetric } from '../records/study.ts';
import type { Summary } from '../records/summary.ts';

const throughputs = {
  total_token_throughput: { field: 'totalTokenThroughput', unit: 'tok/s' },
  output_throughput: { field: 'outputThroughput', unit: 'tok/s' },
  request_throughput: { field: 'requestThroughput', unit: 'req/s' },
} as const;

type Throughput = keyof typeof throughputs;
const isThroughput = (metric: ObjectiveMetric): metric is Throughput => metric in throughputs;

/**
 * The value of an objective or constraint in a summary: throughputs a second, latencies in milliseconds. Null where it
 * was not measured, or (for a `p99_` metric) the summary was made without percentile 99.
 */
export function objectiveValue(summary: Summary, metric: ObjectiveMetric): number | null {
  if (isThroughput(metric)) return summary[throughputs[metric].field];
  const [, statistic, name] = /^(mean|p99)_(.+)_ms$/.exec(metric) ?? [];
  const sample = summary.latencies[name ?? ''];
  const valueS = statistic === 'mean' ? sample?.mean : sample?.percentiles['99'];
  return valueS == null ? null : valueS * 1000;
}

/** Throughputs are maximised, latencies minimised. */
export const better = (metric: ObjectiveMetric): 'higher' | 'lower' => (isThroughput(metric) ? 'higher' : 'lower');

/** Unit of `objectiveValue`. */
export const metricUnit = (metric: ObjectiveMetric): 'tok/s' | 'req/s' | 'ms' =>
  isThroughput(metric) ? throughputs[metric].unit : 'ms';
