import type { Outcome, RequestRecord } from '../records/request.ts';
import type { GoodputLimits, Summary } from '../records/summary.ts';
import { meanConcurrency, peakConcurrency } from './concurrency.ts';
import { distribution } from './distribution.ts';
import { goodput } from './goodput.ts';
import { peakOutputThroughput } from './peaks.ts';
import { steadyWindow } from './steady.ts';
import { metrics } from './table.ts';
import { warningsOf } from './warnings.ts';

export interface SummaryOptions {
  /** Requests that the workload called for. */
  readonly asked: number;
  /** 0 to 100, of every latency. */
  readonly percentiles: readonly number[];
  /** Also counts what was served within these limits. */
  readonly goodput?: GoodputLimits | undefined;
  /** Requests a second that were asked for; absent or infinite: as fast as the concurrency allows. */
  readonly requestRate?: number | undefined;
  /** The limit that was asked for; absent or null: none. */
  readonly maxConcurrency?: number | null | undefined;
  /** Whether answers consist of tokens. Absent: they do when a token was asked for or came. */
  readonly generates?: boolean | undefined;
  /** Seconds, where it is known better than the records tell: they may come from a file that says it. */
  readonly durationS?: number | undefined;
  /** False where the records do not tell when requests were sent, so that nothing that relates them exists. */
  readonly sendTimesKnown?: boolean | undefined;
  /** Remarks of whoever made the prompts, a sentence each; they come after the warnings. */
  readonly notes?: readonly string[] | undefined;
}

/**
 * What the records of one load show.
 *
 * Totals, throughputs and latencies are over the ok requests; concurrency is over all. The duration runs from the
 * start of the load (time 0) to the end of the last request, failed ones included. A throughput is a total over the
 * duration, and null where nothing succeeded or no time passed. A load that lasts longer than it was asked to may send
 * more requests than `asked`; then that is how many were asked. Where nothing is generated, the total token throughput
 * is that of the input, and the other figures of output tokens are null.
 */
export function summarize(records: readonly RequestRecord[], options: SummaryOptions): Summary {
  const { percentiles, notes = [], sendTimesKnown = true } = options;
  const ok = records.filter(({ outcome }) => outcome === 'ok');
  const asked = Math.max(options.asked, records.length);
  const durationS = options.durationS ?? records.reduce((last, { endS }) => Math.max(last, endS), 0);
  const generates = options.generates ?? (records.length === 0 || records.some(generated));
  const sum = (of: (record: RequestRecord) => number): number => ok.reduce((total, record) => total + of(record), 0);
  const rate = (total: number): number | null => (ok.length > 0 && durationS > 0 ? total / durationS : null);

  const inputTokens = sum(({ serverPromptTokens, promptTokens }) => serverPromptTokens ?? promptTokens);
  const outputTokens = sum((record) => record.outputTokens);
  const steady = sendTimesKnown ? steadyWindow(records, { ...options, generates }) : unknownTimes;

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
    cachedInputTokens: ok.some(({ cachedTokens }) => cachedTokens !== undefined)
      ? sum(({ cachedTokens = 0 }) => cachedTokens)
      : null,
    outputTokens,
    outputTokensAsked: generates ? sum(({ outputTokensAsked }) => outputTokensAsked) : 0,
    requestThroughput: rate(ok.length),
    outputThroughput: generates ? rate(outputTokens) : null,
    totalTokenThroughput: rate(inputTokens + outputTokens),
    peakOutputThroughput: generates && sendTimesKnown ? peakOutputThroughput(ok, durationS) : null,
    peakConcurrency: sendTimesKnown ? peakConcurrency(records) : null,
    meanConcurrency: sendTimesKnown ? meanConcurrency(records, 0, durationS) : null,
    tokensPerEvent: tokensPerEvent(ok),
    ...(generates ? {} : { pooling: true }),
    ...(options.goodput === undefined ? {} : { goodput: goodput(records, options.goodput, { asked, durationS }) }),
    steady: steady.window,
    ...(steady.window === null ? { steadyReason: steady.reason } : {}),
    latencies: Object.fromEntries(metrics.map(({ name, of }) => [name, distribution(ok.flatMap(of), percentiles)])),
    warnings: [...warningsOf(records), ...notes],
  };
}

const unknownTimes = {
  window: null,
  reason: 'When the requests were sent is not known, so there is no concurrency, no peak and no steady state.',
} as const;

const generated = ({ outputTokensAsked, outputTokens, tokenTimesS }: RequestRecord): boolean =>
  outputTokensAsked > 0 || outputTokens > 0 || tokenTimesS.length > 0;

/** Output tokens over token-bearing events, of those ok requests in whose stream a token was recognised. Null of none. */
function tokensPerEvent(ok: readonly RequestRecord[]): number | null {
  let events = 0;
  let tokens = 0;
  for (const { tokenTimesS, outputTokens } of ok) {
    if (tokenTimesS.length === 0) continue;
    events += tokenTimesS.length;
    tokens += outputTokens;
  }
  return events === 0 ? null : tokens / events;
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
