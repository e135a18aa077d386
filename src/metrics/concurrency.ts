import { Sample } from '../kit/sample.ts';
import type { RecordList } from '../records/request.ts';
import { type Fold, fold } from './fold.ts';

/** When requests were sent and when they ended, failed ones included; each in ascending order. */
export interface Flights {
  readonly sendsS: Float64Array;
  readonly endsS: Float64Array;
}

export function flightsFold(expected: number): Fold<Flights> {
  const [sends, ends] = [new Sample(expected), new Sample(expected)];
  return {
    add({ sendS, endS }) {
      sends.add(sendS);
      ends.add(endS);
    },
    result: () => ({ sendsS: sends.ascending(), endsS: ends.ascending() }),
  };
}

export const flightsOf = (records: RecordList): Flights => fold(records, flightsFold(records.length));

/** From `atS` on, until the next step, `inFlight` requests are under way. */
export interface Step {
  readonly atS: number;
  readonly inFlight: number;
}

/**
 * How many requests are under way, over time: each over [sendS, endS). Steps in order of time, no two at the same
 * moment; the last one is down to 0.
 */
export function* concurrencySteps({ sendsS, endsS }: Flights): Generator<Step> {
  let started = 0;
  let ended = 0;
  while (ended < endsS.length) {
    const atS = Math.min(sendsS[started] ?? Number.POSITIVE_INFINITY, endsS[ended] as number);
    while ((sendsS[started] ?? Number.POSITIVE_INFINITY) <= atS) started++;
    while ((endsS[ended] ?? Number.POSITIVE_INFINITY) <= atS) ended++;
    yield { atS, inFlight: started - ended };
  }
}

/** Requests under way in [fromS, toS], averaged over the time: the seconds that they spend in it over its length. */
export function meanConcurrencyFold(fromS: number, toS: number): Fold<number | null> {
  let spentS = 0;
  return {
    add({ sendS, endS }) {
      spentS += Math.max(0, Math.min(endS, toS) - Math.max(sendS, fromS));
    },
    result: () => (toS > fromS ? spentS / (toS - fromS) : null),
  };
}

export const meanConcurrency = (records: RecordList, fromS: number, toS: number): number | null =>
  fold(records, meanConcurrencyFold(fromS, toS));

/**
 * Most requests that were under way at one moment, failed ones included; each is under way over [sendS, endS). Null
 * of none.
 *
 * `vllm bench serve` counts every request that touched a whole second, which can exceed its own limit.
 */
export const peakConcurrency = (records: RecordList): number | null => peakOf(flightsOf(records));

export function peakOf({ sendsS, endsS }: Flights): number | null {
  if (sendsS.length === 0) return null;
  let ended = 0;
  let peak = 0;
  for (let started = 0; started < sendsS.length; started++) {
    while (ended < started && (endsS[ended] as number) <= (sendsS[started] as number)) ended++;
    peak = Math.max(peak, started + 1 - ended);
  }
  return peak;
}
