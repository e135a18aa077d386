import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pythonCentred, pythonFixed } from '../../src/metrics/python-format.ts';

// What Python 3 prints.
it.each([
  [2.125, 2, '2.12'], [2.375, 2, '2.38'], [9.625, 2, '9.62'], [0.125, 2, '0.12'], [0.375, 2, '0.38'], [312.625, 2, '312.62'],
  [1.005, 2, '1.00'], [2.675, 2, '2.67'], [0.005, 2, '0.01'], [99.995, 2, '100.00'], [-2.125, 2, '-2.12'], [-0.001, 2, '-0.00'],
  [0, 2, '0.00'], [5, 2, '5.00'], [0.25, 1, '0.2'], [0.75, 1, '0.8'], [2.5, 1, '2.5'], [2 ** 49 + 0.125, 2, '562949953421312.12'],
  [1e21, 2, '1000000000000000000000.00'], [Number.NaN, 2, 'nan'], [-Infinity, 2, '-inf'],
] as const)('%d with %d decimals is %s', (value, decimals, text) => {
  expect(pythonFixed(value, decimals)).toBe(text);
}); // biome-ignore format: a table

it('is the nearest decimal, and the even one of two', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 1e9 }), (eighths) => {
      const hundredths = Math.abs(Math.round(Number(pythonFixed(eighths / 8, 2)) * 100));
      // An eighth is 12.5 hundredths, so twice the distance is a whole number.
      const twice = Math.abs(2 * hundredths - 25 * Math.abs(eighths));
      expect(twice).toBeLessThanOrEqual(1);
      if (twice === 1) expect(hundredths % 2).toBe(0);
    }),
  );
});

it('puts the odd fill to the right', () => {
  expect(pythonCentred('ab', 5, '-')).toBe('-ab--');
  expect(pythonCentred('abcdef', 5, '-')).toBe('abcdef');
});
