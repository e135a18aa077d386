import { pythonCentred, pythonFixed } from '../python-format.ts';
import type { VllmOutput } from './output.ts';
import type { VllmLatency, VllmResult } from './result.ts';
import { vllmTraits } from './version.ts';

const width = 50;
/** Errors that are listed. */
const mostErrors = 10;

const sections: Readonly<Record<string, readonly [short: string, title: string]>> = {
  ttft: ['TTFT', 'Time to First Token'],
  tpot: ['TPOT', 'Time per Output Token (excl. 1st token)'],
  itl: ['ITL', 'Inter-token Latency'],
  e2el: ['E2EL', 'End-to-end Latency'],
};

/**
 * The lines that vLLM prints just before the block: the first errors (releases that do), and the tip that it gives where
 * its plotting package is absent. None of an endpoint that generates nothing.
 */
export function vllmPreface(result: Pick<VllmResult, 'version' | 'pooling' | 'outputs'>): readonly string[] {
  if (result.pooling) return [];
  const failed = result.outputs.filter(({ success }) => !success);
  return [
    ...(vllmTraits[result.version].listsErrors ? errorLines(failed) : []),
    ...(failed.length < result.outputs.length ? ['tip: install termplotlib and gnuplot to plot the metrics'] : []),
  ];
}

function errorLines(failed: readonly VllmOutput[]): string[] {
  if (failed.length === 0) return [];
  return [
    `Failed requests during benchmark run detected (capping to ${mostErrors}):`,
    ...failed.slice(0, mostErrors).map(({ error }, i) => `Error ${i}: ${error}`),
  ];
}

export interface VllmBlockOptions {
  /** Printed when there was a limit. */
  readonly maxConcurrency?: number | null | undefined;
  /** Requests a second; printed when finite. */
  readonly requestRate?: number | undefined;
}

/** The result block as that release prints it, to the byte, without a newline at its end. */
export function vllmBlock(result: VllmResult, { maxConcurrency, requestRate }: VllmBlockOptions = {}): string {
  const { version, pooling } = result;
  const traits = vllmTraits[version];
  const tokens = !pooling && result.hasTokenizer;
  return [
    pythonCentred(' Serving Benchmark Result ', width, '='),
    integer('Successful requests:', result.completed),
    ...(traits.countsFailed ? [integer('Failed requests:', result.failed)] : []),
    ...(maxConcurrency == null ? [] : [integer('Maximum request concurrency:', maxConcurrency)]),
    ...(requestRate === undefined || !Number.isFinite(requestRate)
      ? []
      : [decimal('Request rate configured (RPS):', requestRate)]),
    decimal('Benchmark duration (s):', result.duration),
    integer('Total input tokens:', result.totalInput),
    ...(tokens ? [integer('Total generated tokens:', result.totalOutput)] : []),
    decimal('Request throughput (req/s):', result.requestThroughput),
    ...(result.requestGoodput === null ? [] : [decimal('Request goodput (req/s):', result.requestGoodput)]),
    ...(tokens
      ? [
          decimal('Output token throughput (tok/s):', result.outputThroughput),
          decimal('Peak output token throughput (tok/s):', result.maxOutputTokensPerS),
        ]
      : []),
    ...(pooling ? [] : [decimal('Peak concurrent requests:', result.maxConcurrentRequests)]),
    ...(result.hasTokenizer ? [decimal(traits.totalThroughputLabel, result.totalTokenThroughput)] : []),
    ...result.latencies.flatMap(section),
    '='.repeat(width),
  ].join('\n');
}

function section({ name, mean, median, percentiles }: VllmLatency): string[] {
  const [short, title] = sections[name] ?? [name, name];
  return [
    pythonCentred(title, width, '-'),
    decimal(`Mean ${short} (ms):`, mean),
    decimal(`Median ${short} (ms):`, median),
    ...percentiles.map(([p, value]) => decimal(`P${p} ${short} (ms):`, value)),
  ];
}

const line = (label: string, value: string): string => `${label.padEnd(40)} ${value.padEnd(10)}`;
const integer = (label: string, value: number): string => line(label, String(value));
const decimal = (label: string, value: number): string => line(label, pythonFixed(value, 2));
