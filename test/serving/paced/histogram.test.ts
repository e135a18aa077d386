import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newHistogram } from '../../../src/serving/paced/histogram.ts';

const duration = fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.double({ min: 0, max: 2e9, noNaN: true }));

it('has the mean and the largest exactly, and ranks within half a thousandth', () => {
  fc.assert(
    fc.property(fc.array(duration, { minLength: 1, maxLength: 200 }), (sample) => {
      const histogram = newHistogram();
      for (const us of sample) histogram.add(us);
      const { count, mean, p50, p99, max } = histogram.read();
      const sorted = Float64Array.from(sample).sort();
      const ranked = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] as number;
      expect(count).toBe(sample.length);
      expect(max).toBe(sorted.at(-1));
      expect(Math.abs((mean ?? 0) - sample.reduce((a, b) => a + b, 0) / sample.length)).toBeLessThan(1e-3);
      for (const [found, wanted] of [
        [p50, ranked(0.5)],
        [p99, ranked(0.99)],
      ] as const) {
        expect(Math.abs((found ?? -1) - wanted)).toBeLessThanOrEqual(0.5 + wanted * 0.0005);
      }
    }),
  );
});

it('takes what is out of range for the nearest it has, and is empty again after clear', () => {
  const histogram = newHistogram();
  histogram.add(-3);
  expect(histogram.read()).toMatchObject({ count: 1, max: 0, p50: 0 });
  histogram.add(1e12);
  expect(histogram.read().max).toBe(2 ** 31 - 1);
  histogram.clear();
  expect(histogram.read()).toEqual({ count: 0, mean: null, p50: null, p99: null, max: null });
});
