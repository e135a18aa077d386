import { type Arrivals, arrivalTimes, rateOf } from '../../load/arrivals.ts';

/** When the rate reached a whole number of requests a second. */
export interface RateChange {
  readonly rps: number;
  /** Local time as Python's `datetime.isoformat` writes it. */
  readonly timestamp: string;
}

/**
 * The changes of the rate that vLLM saves of a load with a ramp: where it starts, and each whole number that it reached,
 * at the time when the first request at that rate was due. `durationS` cuts off what an interrupted load never came to.
 */
export function rateChanges(
  count: number,
  arrivals: Arrivals,
  { beganAt, durationS }: { readonly beganAt: Date; readonly durationS: number },
): readonly RateChange[] {
  const { rampUp } = arrivals;
  if (!rampUp) return [];
  const at = (dueS: number): string => localTime(new Date(beganAt.getTime() + dueS * 1000));
  const changes: RateChange[] = [{ rps: rampUp.startRps, timestamp: at(0) }];
  const rate = rateOf(count, arrivals);
  let reached = rampUp.startRps;
  for (const [i, dueS] of arrivalTimes(count, arrivals).entries()) {
    if (dueS > durationS) break;
    const whole = Math.floor(rate(i));
    for (let rps = Math.floor(reached) + 1; rps <= whole; rps++) changes.push({ rps, timestamp: at(dueS) });
    reached = Math.max(reached, whole);
  }
  return changes;
}

function localTime(time: Date): string {
  const two = (value: number, digits = 2): string => String(value).padStart(digits, '0');
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const second = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return `${day}T${second}.${two(time.getMilliseconds() * 1000, 6)}`;
}
