import type { RequestRecord } from '../records/request.ts';

/** Windows of one second begin at every hundredth of a second. */
const binsPerS = 100;

/**
 * Most output tokens that arrived in one second: the largest sum over any window of one second that lies within the
 * load and begins at a multiple of 10 ms. An event counts for the tokens of its request over the events of its
 * request, so that events of several tokens count in full.
 *
 * Null where it would mislead: no token arrived, the load was shorter than one second, or (a few events at both ends
 * of a load of a second or two) the result is below the mean rate over the load, `outputTokens / durationS`.
 */
export function peakOutputThroughput(ok: readonly RequestRecord[], durationS: number): number | null {
  if (durationS < 1) return null;
  const bins = new Float64Array(Math.max(binsPerS, Math.ceil(durationS * binsPerS)));
  let total = 0;
  for (const { tokenTimesS, outputTokens } of ok) {
    total += outputTokens;
    const share = outputTokens / tokenTimesS.length;
    for (const time of tokenTimesS) {
      const bin = Math.min(bins.length - 1, Math.max(0, Math.floor(time * binsPerS)));
      bins[bin] = (bins[bin] as number) + share;
    }
  }

  let window = 0;
  let peak = 0;
  for (let i = 0; i < bins.length; i++) {
    window += bins[i] as number;
    if (i >= binsPerS) window -= bins[i - binsPerS] as number;
    peak = Math.max(peak, window);
  }
  // The running sum of fractions is off in its last digits; whole tokens are whole.
  peak = Number(peak.toPrecision(12));
  return total === 0 || peak < total / durationS ? null : peak;
}

/**
 * Most requests that were under way at one moment, failed ones included; each is under way over [sendS, endS). Null
 * of none.
 */
export function peakConcurrency(records: readonly RequestRecord[]): number | null {
  if (records.length === 0) return null;
  const starts = Float64Array.from(records, ({ sendS }) => sendS).sort();
  const ends = Float64Array.from(records, ({ endS }) => endS).sort();
  let ended = 0;
  let peak = 0;
  for (let started = 0; started < starts.length; started++) {
    while (ended < started && (ends[ended] as number) <= (starts[started] as number)) ended++;
    peak = Math.max(peak, started + 1 - ended);
  }
  return peak;
}
