import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arrivalTimes, seededRandom } from '../../src/load/arrivals.ts';
import { Slots } from '../../src/load/slots.ts';

describe('arrivals', () => {
  it('are all due at once without a rate', () => {
    expect([...arrivalTimes(4, Number.POSITIVE_INFINITY, () => 0.5)]).toEqual([0, 0, 0, 0]);
  });

  it('end at count / rate exactly, in order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 }),
        fc.double({ min: 0.01, max: 1e4, noNaN: true }),
        fc.nat(),
        (n, rate, seed) => {
          const times = arrivalTimes(n, rate, seededRandom(seed));
          expect(times).toHaveLength(n);
          expect(times.at(-1)).toBeCloseTo(n / rate, 9);
          times.forEach((time, i) => {
            expect(time).toBeGreaterThanOrEqual(i === 0 ? 0 : (times[i - 1] as number));
          });
        },
      ),
    );
  });

  it('have the gaps of a Poisson process', () => {
    const n = 100_000;
    const rate = 50;
    const times = arrivalTimes(n, rate, seededRandom(7));
    const gaps = Array.from(times, (time, i) => time - (i === 0 ? 0 : (times[i - 1] as number)));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / n;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / n;
    expect(mean).toBeCloseTo(1 / rate, 6);
    expect(Math.sqrt(variance) * rate).toBeCloseTo(1, 1);
    // Exponential: 1 - 1/e of the gaps are shorter than the mean.
    expect(gaps.filter((gap) => gap < mean).length / n).toBeCloseTo(1 - 1 / Math.E, 2);
  });

  it('stretch the gaps alone: vLLM v0.11.0, seed 0, 10 requests a second', () => {
    // Send times of its own generator; the gaps, given back as uniform numbers, must come out the same.
    const vllm = [
      0.06852979, 0.176673311, 0.256168618, 0.323951577, 0.371400311, 0.460792342, 0.510348157, 0.701807563,
      0.987242306, 1.028883482, 1.163975286, 1.228785251, 1.301065687, 1.524791676, 1.531136448, 1.538985984,
      1.540744756, 1.694658663, 1.824316136, 2.0,
    ];
    const gaps = vllm.map((time, i) => time - (vllm[i - 1] ?? 0)).values();
    const times = arrivalTimes(vllm.length, 10, () => 1 - Math.exp(-(gaps.next().value ?? 0) * 3));
    times.forEach((time, i) => {
      expect(time).toBeCloseTo(vllm[i] as number, 8);
    });
  });

  it('are the same for the same seed', () => {
    const of = (seed: number): number[] => [...arrivalTimes(5, 1, seededRandom(seed))];
    expect(of(3)).toEqual(of(3));
    expect(of(3)).not.toEqual(of(4));
  });

  it('draw evenly', () => {
    const random = seededRandom(1);
    const tenths = Array(10).fill(0);
    for (let i = 0; i < 10_000; i++) tenths[Math.floor(random() * 10)]++;
    for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150);
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
