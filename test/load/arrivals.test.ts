import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Arrivals, arrivalTimes, atOnce, isBurst, rateOf } from '../../src/load/arrivals.ts';
import { Slots } from '../../src/load/slots.ts';

/** vLLM's own schedule, of its benchmark code run with a clock that stands still; times are rounded to 1e-9 s. */
interface VllmCase {
  readonly seed: number;
  readonly n: number;
  readonly request_rate: number | 'inf';
  readonly burstiness: number;
  readonly ramp_up: readonly [null, null, null] | readonly ['linear' | 'exponential', number, number];
  readonly send_times_s: readonly number[];
  readonly rates: readonly number[];
}
const vllm: { readonly cases: readonly VllmCase[] } = JSON.parse(
  readFileSync(new URL('../fixtures/datasets/arrivals.json', import.meta.url), 'utf8'),
);
const arrivalsOf = ({ seed, request_rate, burstiness, ramp_up: [strategy, startRps, endRps] }: VllmCase): Arrivals => ({
  seed,
  burstiness,
  requestRate: request_rate === 'inf' ? Number.POSITIVE_INFINITY : request_rate,
  ...(strategy !== null && { rampUp: { strategy, startRps, endRps } }),
});

const gapsOf = (times: Float64Array): number[] =>
  Array.from(times, (time, i) => time - (i === 0 ? 0 : (times[i - 1] as number)));
function moments(values: readonly number[]): { mean: number; variance: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, variance: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length };
}

describe('arrivals', () => {
  it('are all due at once without a rate', () => {
    expect([...arrivalTimes(4, atOnce)]).toEqual([0, 0, 0, 0]);
    expect([isBurst(atOnce), isBurst({ ...atOnce, requestRate: 3 })]).toEqual([true, false]);
    expect(isBurst({ ...atOnce, rampUp: { strategy: 'linear', startRps: 1, endRps: 2 } })).toBe(false);
  });

  it.each(vllm.cases)(
    'are those of vLLM: rate $request_rate, burstiness $burstiness, ramp $ramp_up, seed $seed',
    (c) => {
      const times = arrivalTimes(c.n, arrivalsOf(c));
      expect(times).toHaveLength(c.send_times_s.length);
      for (const [i, time] of times.entries()) {
        expect(Math.abs(time - (c.send_times_s[i] as number))).toBeLessThanOrEqual(1e-9);
      }
      const rates = Array.from({ length: c.n }, (_, i) => rateOf(c.n, arrivalsOf(c))(i));
      for (const [i, rate] of rates.entries()) expect(rate).toBeCloseTo(c.rates[i] as number, 12);
    },
  );

  it('end at count / rate exactly, in order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 }),
        fc.double({ min: 0.01, max: 1e4, noNaN: true }),
        fc.constantFrom(0.1, 0.5, 1, 2.5, 100, Number.POSITIVE_INFINITY),
        fc.nat(),
        (n, requestRate, burstiness, seed) => {
          const times = arrivalTimes(n, { requestRate, burstiness, seed });
          expect(times).toHaveLength(n);
          expect(Math.abs((times.at(-1) as number) * (requestRate / n) - 1)).toBeLessThan(1e-12);
          for (const [i, time] of times.entries())
            expect(time).toBeGreaterThanOrEqual(i === 0 ? 0 : (times[i - 1] as number));
        },
      ),
    );
  });

  it.each([0.5, 1, 2.5, 20])('have gamma-distributed gaps of shape %f', (burstiness) => {
    const requestRate = 50;
    const gaps = gapsOf(arrivalTimes(100_000, { requestRate, burstiness, seed: 7 }));
    const { mean, variance } = moments(gaps);
    expect(mean * requestRate).toBeCloseTo(1, 6);
    // Of the squared mean, a gamma distribution's variance is 1 / shape. Four standard errors of 1e5 gaps are below 5 %.
    expect(Math.abs(variance * requestRate ** 2 * burstiness - 1)).toBeLessThan(0.05);
  });

  it('have the gaps of a Poisson process by default', () => {
    const gaps = gapsOf(arrivalTimes(100_000, { requestRate: 50, burstiness: 1, seed: 7 }));
    // Exponential: 1 - 1/e of the gaps are shorter than the mean.
    expect(gaps.filter((gap) => gap < 1 / 50).length / gaps.length).toBeCloseTo(1 - 1 / Math.E, 2);
  });

  it('are even where burstiness is infinite', () => {
    const times = arrivalTimes(40, { requestRate: 8, burstiness: Number.POSITIVE_INFINITY, seed: 3 });
    for (const [i, time] of times.entries()) expect(time).toBeCloseTo((i + 1) / 8, 12);
  });

  describe.each(['linear', 'exponential'] as const)('while the rate rises (%s)', (strategy) => {
    const rampUp = { strategy, startRps: 2, endRps: 32 };
    const rising: Arrivals = { requestRate: Number.POSITIVE_INFINITY, burstiness: 1, seed: 11, rampUp };

    it('go from the first rate to the last', () => {
      const rate = rateOf(101, rising);
      expect([rate(0), rate(100)]).toEqual([2, 32]);
      expect(rate(50)).toBeCloseTo(strategy === 'linear' ? 17 : 8, 12);
      expect(rateOf(1, rising)(0)).toBe(2);
    });

    it('have gaps of 1 / rate on average, not stretched', () => {
      const count = 100_000;
      const rate = rateOf(count, rising);
      const gaps = gapsOf(arrivalTimes(count, rising));
      // Each gap times its rate has the mean and variance 1.
      const { mean, variance } = moments(gaps.map((gap, i) => gap * rate(i)));
      expect(Math.abs(mean - 1)).toBeLessThan(0.02);
      expect(Math.abs(variance - 1)).toBeLessThan(0.06);
    });

    it('are at exactly those gaps where burstiness is infinite', () => {
      const even = { ...rising, burstiness: Number.POSITIVE_INFINITY };
      const rate = rateOf(20, even);
      for (const [i, gap] of gapsOf(arrivalTimes(20, even)).entries()) expect(gap).toBeCloseTo(1 / rate(i), 12);
    });
  });

  it('are the same for the same seed', () => {
    const of = (seed: number): number[] => [...arrivalTimes(5, { requestRate: 1, burstiness: 1, seed })];
    expect(of(3)).toEqual(of(3));
    expect(of(3)).not.toEqual(of(4));
  });

  it('begin alike whatever the count, but for the stretch', () => {
    const gaps = (n: number) => gapsOf(arrivalTimes(n, { requestRate: 1, burstiness: 0.5, seed: 9 }));
    const [few, many] = [gaps(10), gaps(1000)];
    const stretch = (many[0] as number) / (few[0] as number);
    for (const [i, gap] of few.entries()) expect(many[i]).toBeCloseTo(gap * stretch, 9);
  });
});

describe('slots', () => {
  it('are free since the start, then since the earliest that was given back', () => {
    const slots = new Slots(2);
    expect([slots.take(), slots.take(), slots.free]).toEqual([0, 0, false]);
    slots.give(1);
    slots.give(2);
    expect([slots.take(), slots.take(), slots.free, slots.most]).toEqual([1, 2, false, 2]);
  });

  it('prefer one that was never used', () => {
    const slots = new Slots(2);
    slots.take();
    slots.give(5);
    expect([slots.take(), slots.take()]).toEqual([0, 5]);
  });

  it('never run out without a limit', () => {
    const slots = new Slots(null);
    for (let i = 0; i < 5; i++) slots.take();
    slots.give(3);
    expect([slots.free, slots.open, slots.most, slots.take()]).toEqual([true, 4, 5, 0]);
  });

  it('keep their order over a long load', () => {
    const slots = new Slots(1);
    slots.take();
    for (let i = 1; i < 5000; i++) {
      slots.give(i);
      expect(slots.take()).toBe(i);
    }
  });
});
