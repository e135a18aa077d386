import type { RecordList } from '../records/request.ts';
import type { SteadyWindow } from '../records/summary.ts';
import { concurrencySteps, type Flights, flightsFold, meanConcurrencyFold, peakOf } from './concurrency.ts';
import { latenciesFold } from './distribution.ts';
import { e2el } from './e2el.ts';
import { eventTokens } from './event-tokens.ts';
import { type Fold, fold } from './fold.ts';
import { tpot } from './tpot.ts';
import { ttft } from './ttft.ts';

/** From this share of the peak on, the load counts as at its plateau. */
const nearPeak = 0.9;
/** A window is at least this many mean E2ELs long, so that it holds requests from beginning to end. */
const latenciesLong = 2;
/** More under way in the second half than this many times the first, and nothing has settled. */
const growth = 1.5;

export interface SteadyOptions {
  /** Requests a second at which they were sent; absent or infinite: as fast as the concurrency allows. */
  readonly requestRate?: number | undefined;
  /** The limit on requests in flight; absent or null: none. */
  readonly maxConcurrency?: number | null | undefined;
  readonly percentiles: readonly number[];
  /** Whether answers consist of tokens. */
  readonly generates: boolean;
}

export type Steady =
  | { readonly window: SteadyWindow }
  | { readonly window: null /** A sentence. */; readonly reason: string };

/**
 * The stretch of the load in which it was at its plateau, and the figures in it, or why there is none. Beside the whole
 * run, whose figures hold the ramp at the beginning and the tail at the end.
 *
 * Where the concurrency decides when requests are sent (a limit that was reached, or no rate), it goes from the first to
 * the last moment at which at least 90 % of the peak concurrency were under way. Where a rate decides, it goes from one
 * mean E2EL after the first request was sent, when about as many leave as come, until the last one is sent; there is
 * none when the number under way went on growing (the second half of the window has over 1.5 times as many as the
 * first).
 *
 * Either way at least as many ok requests end inside as were under way at the peak, and the window is at least twice as
 * long as the mean E2EL. Inside is after `startS`, up to and including `endS`.
 */
export const steadyWindow = (records: RecordList, options: SteadyOptions): Steady =>
  fold(records, steadyFold(fold(records, courseFold(records.length)), options));

/** What has to be known of a load before anybody can say which stretch of it is the plateau. */
export interface Course {
  /** Most requests under way at once; null when none was sent. */
  readonly peak: number | null;
  /** Of the ok requests; null where none has a latency. */
  readonly meanE2elS: number | null;
  /** From the first to the last request that was sent. */
  readonly sends: Span;
  /** From the first to the last moment near the peak; null where there is none. */
  readonly plateau: Span | null;
}

interface Span {
  readonly startS: number;
  readonly endS: number;
}

/** `expected` is the number of records. */
export function courseFold(expected: number): Fold<Course> {
  const all = flightsFold(expected);
  let e2elS = 0;
  let answered = 0;
  return {
    add(record) {
      all.add(record);
      if (record.outcome !== 'ok') return;
      for (const valueS of e2el.of(record)) {
        e2elS += valueS;
        answered++;
      }
    },
    result() {
      const flights = all.result();
      const peak = peakOf(flights);
      return {
        peak,
        meanE2elS: answered === 0 ? null : e2elS / answered,
        sends: { startS: flights.sendsS[0] ?? 0, endS: flights.sendsS.at(-1) ?? 0 },
        plateau: peak === null ? null : plateauSpan(flights, peak),
      };
    },
  };
}

/** The window in a load of that course. */
export function steadyFold({ peak, meanE2elS, sends, plateau }: Course, options: SteadyOptions): Fold<Steady> {
  if (peak === null || meanE2elS === null) return settled('no request with a known latency succeeded.');
  const { requestRate = Number.POSITIVE_INFINITY, maxConcurrency } = options;
  const byRate = Number.isFinite(requestRate) && (maxConcurrency == null || peak < maxConcurrency);
  const span = byRate ? { startS: sends.startS + meanE2elS, endS: sends.endS } : plateau;
  if (span === null || !(span.endS > span.startS)) return settled('it was over before it had reached a plateau.');
  const { startS, endS } = span;
  const lengthS = endS - startS;
  const half = (startS + endS) / 2;
  const inside = (atS: number): boolean => atS > startS && atS <= endS;

  const under = {
    whole: meanConcurrencyFold(startS, endS),
    before: meanConcurrencyFold(startS, half),
    after: meanConcurrencyFold(half, endS),
  };
  const latencies = latenciesFold([ttft, tpot], options.percentiles);
  let completed = 0;
  let outputTokens = 0;
  return {
    add(record) {
      under.whole.add(record);
      under.before.add(record);
      under.after.add(record);
      if (record.outcome !== 'ok') return;
      const tokensOf = eventTokens(record);
      record.tokenTimesS.forEach((atS, i) => {
        if (inside(atS)) outputTokens += tokensOf(i);
      });
      if (!inside(record.endS)) return;
      completed++;
      if (record.sendS >= startS) latencies.add(record);
    },
    result() {
      if (completed < peak) {
        return none(
          `only ${completed} requests ended while it was at its plateau; it takes as many as were under way at the peak, ${peak}.`,
        );
      }
      if (lengthS < latenciesLong * meanE2elS) {
        return none(
          `its plateau lasted ${lengthS.toFixed(2)} s, which is less than twice the mean E2EL of ${meanE2elS.toFixed(2)} s.`,
        );
      }
      const [before, after] = [under.before.result(), under.after.result()];
      if (byRate && before !== null && after !== null && after > growth * before) {
        return none(
          `the number under way went on growing (${before.toFixed(1)}, then ${after.toFixed(1)} on average): requests came faster than they were answered.`,
        );
      }
      // The running sum of fractions is off in its last digits; whole tokens are whole.
      outputTokens = Number(outputTokens.toPrecision(12));
      return {
        window: {
          startS,
          endS,
          completed,
          outputTokens,
          requestThroughput: completed / lengthS,
          outputThroughput: options.generates ? outputTokens / lengthS : null,
          meanConcurrency: under.whole.result() ?? 0,
          latencies: latencies.result(),
        },
      };
    },
  };
}

const none = (why: string): Steady => ({ window: null, reason: `There is no steady state in this load: ${why}` });

/** There is none, whatever the records say. */
const settled = (why: string): Fold<Steady> => ({ add() {}, result: () => none(why) });

function plateauSpan(flights: Flights, peak: number): Span | null {
  let startS: number | undefined;
  let endS: number | undefined;
  let high = false;
  for (const { atS, inFlight } of concurrencySteps(flights)) {
    const wasHigh = high;
    high = inFlight >= nearPeak * peak;
    if (high) startS ??= atS;
    else if (wasHigh) endS = atS;
  }
  return startS === undefined || endS === undefined ? null : { startS, endS };
}
