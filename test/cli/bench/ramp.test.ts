import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rateChanges } from '../../../src/cli/bench/ramp.ts';
import { type Arrivals, arrivalTimes, atOnce, rateOf } from '../../../src/load/arrivals.ts';

const beganAt = new Date(2026, 7, 5, 9, 3, 7, 40);
const ramp = (startRps: number, endRps: number, strategy: 'linear' | 'exponential' = 'linear'): Arrivals => ({
  ...atOnce,
  rampUp: { strategy, startRps, endRps },
});

it('are none without a ramp', () => {
  expect(rateChanges(5, atOnce, { beganAt, durationS: 9 })).toEqual([]);
  expect(rateChanges(5, { ...atOnce, requestRate: 4 }, { beganAt, durationS: 9 })).toEqual([]);
});

it('begin with the load, in local time as Python writes it', () => {
  const [first] = rateChanges(20, ramp(2, 4), { beganAt, durationS: 99 });
  expect(first).toEqual({ rps: 2, timestamp: '2026-08-05T09:03:07.040000' });
});

it('name each whole number once, when the first request at that rate was due', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 1, max: 80 }),
      fc.constantFrom('linear', 'exponential'),
      (start, more, count, strategy) => {
        const arrivals = ramp(start, start + more, strategy);
        const changes = rateChanges(count, arrivals, { beganAt, durationS: 1e9 });
        const last = Math.floor(rateOf(count, arrivals)(count - 1));
        expect(changes.map(({ rps }) => rps)).toEqual(Array.from({ length: last - start + 1 }, (_, i) => start + i));
        const times = arrivalTimes(count, arrivals);
        const rates = [...times.keys()].map(rateOf(count, arrivals));
        for (const { rps, timestamp } of changes.slice(1)) {
          const dueMs = (times[rates.findIndex((rate) => Math.floor(rate) >= rps)] as number) * 1000;
          expect(Math.abs(new Date(timestamp).getTime() - beganAt.getTime() - dueMs)).toBeLessThanOrEqual(1);
        }
      },
    ),
  );
});

it('end with an interrupted load', () => {
  const times = arrivalTimes(40, ramp(1, 20));
  const changes = rateChanges(40, ramp(1, 20), { beganAt, durationS: times[10] as number });
  expect(changes.at(-1)?.rps).toBe(Math.floor(rateOf(40, ramp(1, 20))(10)));
});
