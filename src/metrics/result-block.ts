import type { Distribution, Summary } from '../records/summary.ts';
import type { Metric } from './metric.ts';
import { pythonCentred, pythonFixed } from './python-format.ts';
import { metrics } from './table.ts';

const width = 50;

export interface ResultBlockOptions {
  /** Printed when there was a limit. */
  readonly maxConcurrency?: number | undefined;
  /** Requests a second; printed when finite. */
  readonly requestRate?: number | undefined;
  /** Names in `metrics/table.ts`; sections come in the table's order. */
  readonly percentileMetrics: readonly string[];
  /** In the order of the lines; the summary must have been made with them. */
  readonly percentiles: readonly number[];
  /** Says in the header that no engine ran. */
  readonly simulated?: boolean;
}

/**
 * The result block of `vllm bench serve` (as of August 2026), to the column, without a newline at its end. Times in
 * milliseconds, two decimals by Python's rounding. What was not measured is `-`, never 0.00. The goodput is there when
 * limits were given; figures of output tokens are not where nothing is generated.
 */
export function resultBlock(summary: Summary, options: ResultBlockOptions): string {
  const { maxConcurrency, requestRate, percentileMetrics, percentiles, simulated } = options;
  const title = `${simulated ? ' SIMULATED' : ''} Serving Benchmark Result `;
  const { pooling, goodput } = summary;
  const rateLimited = requestRate !== undefined && Number.isFinite(requestRate);
  return [
    pythonCentred(title, width, '='),
    line('Successful requests:', String(summary.ok)),
    line('Failed requests:', String(summary.failed)),
    ...(maxConcurrency === undefined ? [] : [line('Maximum request concurrency:', String(maxConcurrency))]),
    ...(rateLimited ? [line('Request rate configured (RPS):', decimal(requestRate))] : []),
    line('Benchmark duration (s):', decimal(summary.durationS)),
    line('Total input tokens:', String(summary.inputTokens)),
    ...(pooling ? [] : [line('Total generated tokens:', String(summary.outputTokens))]),
    line('Request throughput (req/s):', decimal(summary.requestThroughput)),
    ...(goodput === undefined ? [] : [line('Request goodput (req/s):', decimal(goodput.requestThroughput))]),
    ...(pooling
      ? []
      : [
          line('Output token throughput (tok/s):', decimal(summary.outputThroughput)),
          line('Peak output token throughput (tok/s):', decimal(summary.peakOutputThroughput)),
          line('Peak concurrent requests:', decimal(summary.peakConcurrency)),
        ]),
    line('Total token throughput (tok/s):', decimal(summary.totalTokenThroughput)),
    ...metrics
      .filter(({ name }) => percentileMetrics.includes(name) && (!pooling || name === 'e2el'))
      .flatMap((metric) => section(metric, summary.latencies[metric.name], percentiles)),
    '='.repeat(width),
  ].join('\n');
}

function section({ title, short }: Metric, sample: Distribution | undefined, percentiles: readonly number[]): string[] {
  return [
    pythonCentred(title, width, '-'),
    line(`Mean ${short} (ms):`, milliseconds(sample?.mean)),
    line(`Median ${short} (ms):`, milliseconds(sample?.median)),
    ...percentiles.map((p) => line(`P${p} ${short} (ms):`, milliseconds(sample?.percentiles[String(p)]))),
  ];
}

const line = (label: string, value: string): string => `${label.padEnd(40)} ${value.padEnd(10)}`;
const decimal = (value: number | null): string => (value === null ? '-' : pythonFixed(value, 2));
const milliseconds = (valueS: number | null | undefined): string => decimal(valueS == null ? null : valueS * 1000);
