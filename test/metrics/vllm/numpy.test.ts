import fc from 'fast-check';
import { expect, it } from 'vitest';
import { numpyMean, numpyStd } from '../../../src/metrics/vllm/numpy.ts';

const eighths = fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: 1, maxLength: 1000 });

// Sums of eighths are exact in any order, so nothing but a value left out or counted twice can differ.
it('adds every value once, however many there are', () => {
  fc.assert(
    fc.property(eighths, (values) => {
      const sum = values.reduce((a, b) => a + b, 0);
      expect(numpyMean(values.map((v) => v / 8))).toBe(sum / 8 / values.length);
    }),
  );
});

it('adds in the order given, where that shows', () => {
  expect(numpyMean([1e16, 1, -1e16, 1])).toBe(0.25);
  expect(numpyMean([1e16, -1e16, 1, 1])).toBe(0.5);
});

it('has the population’s standard deviation, and 0 of nothing', () => {
  expect(numpyStd([1, 2, 3, 4])).toBe(Math.sqrt(1.25));
  expect([numpyMean([]), numpyStd([])]).toEqual([0, 0]);
});
