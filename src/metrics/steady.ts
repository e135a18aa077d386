import { mean } from '../kit/numbers.ts';
import type { RequestRecord } from '../records/request.ts';
import type { SteadyWindow } from '../records/summary.ts';
import { concurrencySteps, meanConcurrency, peakConcurrency } from './concurrency.ts';
import { distribution } from './distribution.ts';
import { e2el } from './e2el.ts';
import { eventTokens } from './event-tokens.ts';
import { tpot } from './tpot.ts';
import { ttft } from './ttft.ts';

/** From this share of the peak on, the load counts as at its plateau. */
const plateau = 0.9;
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
export function steadyWindow(records: readonly RequestRecord[], options: SteadyOptions): Steady {
  const ok = records.filter(({ outcome }) => outcome === 'ok');
  const peak = peakConcurrency(records);
  const meanE2elS = mean(ok.flatMap((record) => e2el.of(record)));
  if (peak === null || meanE2elS === null) return none('no request with a known latency succeeded.');

  const { requestRate = Number.POSITIVE_INFINITY, maxConcurrency } = options;
  const byRate = Number.isFinite(requestRate) && (maxConcurrency == null || peak < maxConcurrency);
  const span = byRate ? arrivalSpan(records, meanE2elS) : plateauSpan(records, peak);
  if (span === null || !(span.endS > span.startS)) return none('it was over before it had reached a plateau.');
  const { startS, endS } = span;
  const lengthS = endS - startS;
  const inside = (atS: number): boolean => atS > startS && atS <= endS;

  const completed = ok.filter((record) => inside(record.endS));
  if (completed.length < peak) {
    return none(
      `only ${completed.length} requests ended while it was at its plateau; it takes as many as were under way at the peak, ${peak}.`,
    );
  }
  if (lengthS < latenciesLong * meanE2elS) {
    return none(
      `its plateau lasted ${lengthS.toFixed(2)} s, which is less than twice the mean E2EL of ${meanE2elS.toFixed(2)} s.`,
    );
  }
  const half = (startS + endS) / 2;
  const [before, after] = [meanConcurrency(records, startS, half), meanConcurrency(records, half, endS)];
  if (byRate && before !== null && after !== null && after > growth * before) {
    return none(
      `the number under way went on growing (${before.toFixed(1)}, then ${after.toFixed(1)} on average): requests came faster than they were answered.`,
    );
  }

  const whole = completed.filter(({ sendS }) => sendS >= startS);
  const outputTokens = Number(tokensInside(ok, inside).toPrecision(12));
  return {
    window: {
      startS,
      endS,
      completed: completed.length,
      outputTokens,
      requestThroughput: completed.length / lengthS,
      outputThroughput: options.generates ? outputTokens / lengthS : null,
      meanConcurrency: meanConcurrency(records, startS, endS) ?? 0,
      latencies: Object.fromEntries(
        [ttft, tpot].map(({ name, of }) => [name, distribution(whole.flatMap(of), options.percentiles)]),
      ),
    },
  };
}

const none = (why: string): Steady => ({ window: null, reason: `There is no steady state in this load: ${why}` });

interface Span {
  readonly startS: number;
  readonly endS: number;
}

function plateauSpan(records: readonly RequestRecord[], peak: number): Span | null {
  const steps = concurrencySteps(records);
  const high = (step: { readonly inFlight: number }): boolean => step.inFlight >= plateau * peak;
  const first = steps.findIndex(high);
  const last = steps.findLastIndex(high);
  const [start, end] = [steps[first], steps[last + 1]];
  return start === undefined || end === undefined ? null : { startS: start.atS, endS: end.atS };
}

function arrivalSpan(records: readonly RequestRecord[], meanE2elS: number): Span {
  const sent = records.map(({ sendS }) => sendS);
  const first = sent.reduce((least, sendS) => Math.min(least, sendS), Number.POSITIVE_INFINITY);
  const last = sent.reduce((most, sendS) => Math.max(most, sendS), Number.NEGATIVE_INFINITY);
  return { startS: first + meanE2elS, endS: last };
}

function tokensInside(ok: readonly RequestRecord[], inside: (atS: number) => boolean): number {
  let total = 0;
  for (const record of ok) {
    const tokensOf = eventTokens(record);
    record.tokenTimesS.forEach((atS, i) => {
      if (inside(atS)) total += tokensOf(i);
    });
  }
  return total;
}
