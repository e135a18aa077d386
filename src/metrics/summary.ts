import type { RecordList } from '../records/request.ts';
import type { Distribution, GoodputLimits, Summary } from '../records/summary.ts';
import { meanConcurrencyFold } from './concurrency.ts';
import { eventLatenciesFold, latenciesFold } from './distribution.ts';
import { feed, ofOk } from './fold.ts';
import { goodputFold } from './goodput.ts';
import { peakOutputFold } from './peaks.ts';
import { courseFold, steadyFold } from './steady.ts';
import { metrics } from './table.ts';
import { totalsFold } from './totals.ts';
import { warningsFold } from './warnings.ts';

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
 *
 * The records are gone through twice, one by one, so that they need not be in memory; what is kept of each request is eight
 * bytes a figure, and of single events how many there were of each length.
 */
export function summarize(records: RecordList, options: SummaryOptions): Summary {
  const { percentiles, notes = [], sendTimesKnown = true } = options;
  const { totals, course, ...seen } = firstPass(records, percentiles);
  const { ok, inputTokens, outputTokens } = totals;
  const asked = Math.max(options.asked, records.length);
  const durationS = options.durationS ?? totals.lastEndS;
  const generates = options.generates ?? (records.length === 0 || totals.generated);
  const rate = (total: number): number | null => (ok > 0 && durationS > 0 ? total / durationS : null);

  const peak = ofOk(peakOutputFold(durationS));
  const mean = meanConcurrencyFold(0, durationS);
  const good = options.goodput && goodputFold(options.goodput, { asked, durationS });
  const window = steadyFold(course, { ...options, generates });
  feed(records, peak, mean, window, ...(good ? [good] : []));
  const steady = sendTimesKnown ? window.result() : unknownTimes;
  const { latencies } = seen;

  return {
    asked,
    ok,
    failed: records.length - ok,
    notSent: asked - records.length,
    outcomes: totals.outcomes,
    errors: totals.errors,
    durationS,
    inputTokens,
    inputTokensByClient: totals.inputTokensByClient,
    cachedInputTokens: totals.cachedInputTokens,
    outputTokens,
    outputTokensAsked: generates ? totals.outputTokensAsked : 0,
    requestThroughput: rate(ok),
    outputThroughput: generates ? rate(outputTokens) : null,
    totalTokenThroughput: rate(inputTokens + outputTokens),
    peakOutputThroughput: generates && sendTimesKnown ? peak.result() : null,
    peakConcurrency: sendTimesKnown ? course.peak : null,
    meanConcurrency: sendTimesKnown ? mean.result() : null,
    tokensPerEvent: totals.tokensPerEvent,
    ...(generates ? {} : { pooling: true }),
    ...(good ? { goodput: good.result() } : {}),
    steady: steady.window,
    ...(steady.window === null ? { steadyReason: steady.reason } : {}),
    latencies: Object.fromEntries(metrics.map(({ name }) => [name, latencies[name] as Distribution])),
    warnings: [...seen.warnings, ...notes],
  };
}

const unknownTimes = {
  window: null,
  reason: 'When the requests were sent is not known, so there is no concurrency, no peak and no steady state.',
} as const;

const perRequest = metrics.filter((metric) => !metric.perEvent);
const perEvent = metrics.filter((metric) => metric.perEvent);

/** What needs nothing but the records; in a function of its own, so that its samples are gone when it has ended. */
function firstPass(records: RecordList, percentiles: readonly number[]) {
  const totals = totalsFold();
  const course = courseFold(records.length);
  const latencies = ofOk(latenciesFold(perRequest, percentiles, records.length));
  const gaps = ofOk(eventLatenciesFold(perEvent, percentiles));
  const warnings = warningsFold();
  feed(records, totals, course, latencies, gaps, warnings);
  return {
    totals: totals.result(),
    course: course.result(),
    latencies: { ...latencies.result(), ...gaps.result() },
    warnings: warnings.result(),
  };
}
