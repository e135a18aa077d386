import type { ImportedLatency } from '../records/imported.ts';

export type Latencies = Record<string, ImportedLatency>;

/** A row or key that is one statistic of a latency metric. */
export interface LatencyRow {
  /** Its value times ten to this is in seconds: -3 for milliseconds. */
  readonly exponent: number;
  put(latencies: Latencies, valueS: number | null): void;
}

/** What tools call the metrics that have a name here. */
const names: Readonly<Record<string, string>> = { latency: 'e2el', e2e_latency: 'e2el', end_to_end_latency: 'e2el' };

/** Reads a printed label: `Mean TTFT (ms)`, `P99.9 E2EL (ms)`, `Median Latency(s)`; undefined where it is none. */
export function latencyRow(label: string): LatencyRow | undefined {
  const [, statistic, metric, unit] =
    /^(mean|median|std|p\d+(?:\.\d+)?) (.+?) ?\((ms|s)\)$/i.exec(label.replace(/\s+/g, ' ')) ?? [];
  if (statistic === undefined || metric === undefined) return undefined;
  return rowOf(statistic.toLowerCase(), metric.toLowerCase().replace(/[\s-]+/g, '_'), unit === 's' ? 0 : -3);
}

/** Reads a key of a result file: `mean_ttft_ms`, `std_e2el_ms`, `p99.9_itl_ms`; undefined where it is none. */
export function latencyKey(key: string): LatencyRow | undefined {
  const [, statistic, metric] = /^(mean|median|std|p\d+(?:\.\d+)?)_(.+)_ms$/.exec(key) ?? [];
  return statistic === undefined || metric === undefined ? undefined : rowOf(statistic, metric, -3);
}

function rowOf(statistic: string, metric: string, exponent: number): LatencyRow {
  const name = names[metric] ?? metric;
  return {
    exponent,
    put(latencies, valueS) {
      latencies[name] ??= { mean: null, median: null, sd: null, percentiles: {} };
      const latency = latencies[name];
      if (statistic === 'mean' || statistic === 'median') latency[statistic] = valueS;
      else if (statistic === 'std') latency.sd = valueS;
      else latency.percentiles[statistic.slice(1)] = valueS;
    },
  };
}
