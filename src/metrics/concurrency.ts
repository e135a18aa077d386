import type { RequestRecord } from '../records/request.ts';

/** From `atS` on, until the next step, `inFlight` requests are under way. */
export interface Step {
  readonly atS: number;
  readonly inFlight: number;
}

/**
 * How many requests are under way, over time: each over [sendS, endS), failed ones included. Steps in order of time, no
 * two at the same moment; the last one is down to 0.
 */
export function concurrencySteps(records: readonly RequestRecord[]): readonly Step[] {
  const starts = Float64Array.from(records, ({ sendS }) => sendS).sort();
  const ends = Float64Array.from(records, ({ endS }) => endS).sort();
  const steps: Step[] = [];
  let started = 0;
  let ended = 0;
  while (ended < ends.length) {
    const atS = Math.min(starts[started] ?? Number.POSITIVE_INFINITY, ends[ended] as number);
    while ((starts[started] ?? Number.POSITIVE_INFINITY) <= atS) started++;
    while ((ends[ended] ?? Number.POSITIVE_INFINITY) <= atS) ended++;
    steps.push({ atS, inFlight: started - ended });
  }
  return steps;
}

/** Requests under way in [fromS, toS], averaged over the time: the seconds that they spend in it over its length. */
export function meanConcurrency(records: readonly RequestRecord[], fromS: number, toS: number): number | null {
  if (!(toS > fromS)) return null;
  const spent = records.reduce(
    (sum, { sendS, endS }) => sum + Math.max(0, Math.min(endS, toS) - Math.max(sendS, fromS)),
    0,
  );
  return spent / (toS - fromS);
}

/**
 * Most requests that were under way at one moment, failed ones included; each is under way over [sendS, endS). Null
 * of none.
 *
 * `vllm bench serve` counts every request that touched a whole second, which can exceed its own limit.
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
