import { expect, it } from 'vitest';
import * as words from '../../src/kit/words.ts';

it.each([
  [10426.27, '10,426'],
  [999.96, '1,000.0'],
  [226.03, '226.0'],
  [27.444, '27.44'],
  [0.26, '0.260'],
  [-8403.97, '-8,404'],
])('writes %f as the quantity %s', (value, text) => {
  expect(words.formatQuantity(value, 'en')).toBe(text);
});

it.each([
  [1.5808, '+58.1 %'],
  [0.9, '-10.0 %'],
  [1, '0.0 %'],
  [0.99999, '0.0 %'],
  [2.913, '+191.3 %'],
  [11, '+1,000.0 %'],
])('writes the ratio %f as %s', (ratio, text) => {
  expect(words.formatChange(ratio, 'en')).toBe(text);
});

it.each([
  [0, '0 ms'],
  [0.00123, '1.2 ms'],
  [0.0121, '12 ms'],
  [0.9999, '1.0 sec'],
  [59.97, '1 min'],
  [50, '50 sec'],
  [61.4, '1 min 1 sec'],
  [3599.9, '1 hr'],
  [4320, '1 hr 12 min'],
  [360_000, '100 hr'],
])('writes %f s as %s', (durationS, text) => {
  expect(words.formatDuration(durationS, 'en')).toBe(text);
});

it.each([
  [0, '0 B'],
  [1023, '1,023 B'],
  [1536, '1.5 KiB'],
  [512 * 2 ** 30, '512 GiB'],
  [2 ** 60, '1,024 PiB'],
])('writes %f bytes as %s', (bytes, text) => {
  expect(words.formatBytes(bytes, 'en')).toBe(text);
});

it('follows the locale', () => {
  expect(words.formatQuantity(10426.27, 'de')).toBe('10.426');
  expect(words.formatChange(1.5808, 'de')).toBe('+58,1 %');
  expect(words.formatDuration(4320, 'ja')).toContain('時間');
  expect(words.formatList(['a', 'b', 'c'], 'ja')).toBe('a、b、c');
});

it('writes moments in UTC, and leaves alone what is none', () => {
  expect(words.formatMoment('2026-08-27T23:30:00+02:00', 'en')).toBe('Aug 27, 2026, 21:30 UTC');
  expect(words.formatMoment('yesterday', 'en')).toBe('yesterday');
});

it('picks the form that the grammar wants', () => {
  const forms = { one: 'run', few: 'f', other: 'runs' };
  expect([0, 1, 2].map((n) => words.plural(n, 'en', forms))).toEqual(['runs', 'run', 'runs']);
  expect(words.plural(2, 'pl', forms)).toBe('f');
  expect(words.plural(1, 'ja', forms)).toBe('runs');
});

it('capitalises the first letter only', () => {
  expect(words.capitalised('mean TPOT', 'en')).toBe('Mean TPOT');
  expect(words.capitalised('', 'en')).toBe('');
  expect(words.capitalised('istanbul', 'tr')).toBe('İstanbul');
});
