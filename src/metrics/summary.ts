import type { Outcome, RequestRecord } from '../records/request.ts';
import type { Summary } from '../records/summary.ts';
import { distribution } from './distribution.ts';
import { peakConcurrency, peakOutputThroughput } from './peaks.ts';
import { metrics } from './table.ts';
import { warningsOf } from './warnings.ts';

export interface SummaryOptions {
  /** Requests that the workload called for. */
  readonly asked: number;
  /** 0 to 100, of every latency. */
  readonly percentiles: readonly number[];
}

/**
 * What the records of one load show.
 *
 * Totals, throughputs and latencies are over the ok requests; concurrency is over all. The duration runs from the
 * start of the load (time 0) to the end of the last request, failed ones included. A throughput is a total over the
 * duration, and null where nothing succeeded or no time passed. A load that lasts longer than it was asked to may send
 * more requests than `asked`; then that is how many were asked.
 */
export function summarize(records: readonly RequestRecord[], options: SummaryOptions): Summary {
  const ok = records.filter(({ outcome }) => outcome === 'ok');
  const asked = Math.max(options.asked, records.length);
  const durationS = records.reduce((last, { endS }) => Math.max(last, endS), 0);
  const sum = (of: (record: RequestRecord) => number): number => ok.reduce((total, record) => total + of(record), 0);
  const rate = (total: number): number | null => (ok.length > 0 && durationS > 0 ? total / durationS : null);

  const inputTokens = sum(({ serverPromptTokens, promptTokens }) => serverPromptTokens ?? promptTokens);
  const outputTokens = sum((record) => record.outputTokens);

  const latencies = Object.fromEntries(
    metrics.map(({ name, of }) => [name, distribution(ok.flatMap(of), options.percentiles)]),
  );

  return {
    asked,
    ok: ok.length,
    failed: records.length - ok.length,
    notSent: asked - records.length,
    outcomes: countOutcomes(records),
    errors: frequentErrors(records),
    durationS,
    inputTokens,
    inputTokensByClient: sum(({ promptTokens }) => promptTokens),
    outputTokens,
    outputTokensAsked: sum(({ outputTokensAsked }) => outputTokensAsked),
    requestThroughput: rate(ok.length),
    outputThroughput: rate(outputTokens),
    totalTokenThroughput: rate(inputTokens + outputTokens),
    peakOutputThroughput: peakOutputThroughput(ok, durationS),
    peakConcurrency: peakConcurrency(records),
    latencies,
    warnings: warningsOf(records),
  };
}

function countOutcomes(records: readonly RequestRecord[]): Partial<Record<Outcome, number>> {
  const counts: Partial<Record<Outcome, number>> = {};
  for (const { outcome } of records) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** The ten most frequent texts, most frequent first; equally frequent ones in order of their first appearance. */
function frequentErrors(records: readonly RequestRecord[]): Summary['errors'] {
  const counts = new Map<string, number>();
  for (const { outcome, error, httpStatus } of records) {
    if (outcome === 'ok') continue;
    const text = error ?? (outcome === 'http_error' && httpStatus !== undefined ? `HTTP ${httpStatus}` : outcome);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts]
    .map(([text, count]) => ({ text, count }))
    .sort((a, b) => b.count - a.count)
    .slice(0, 10);
}
