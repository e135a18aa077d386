import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareVersions } from '../../src/kit/versions.ts';

/** Each before the next. */
const ordered = [
  // llama.cpp's builds are older than its versions.
  'b7376',
  'b7377',
  '0.4.0',
  '0.5.5rc0',
  '0.5.5',
  '0.5.5.post1',
  '0.5.11',
  '0.11.0.dev3',
  '0.11.0a1',
  '0.11.0b2',
  '0.11.0rc1',
  '0.11.0rc2',
  '0.11.0',
  '0.11.0.post1',
  '0.11.1',
  '0.25.1',
  '1.2.0rc1',
  '1.2.0',
];

it('orders releases, candidates and post-releases as Python does', () => {
  const shuffled = [...ordered].sort((a, b) => (a.length === b.length ? (a < b ? 1 : -1) : b.length - a.length));
  expect(shuffled).not.toEqual(ordered);
  expect(shuffled.sort(compareVersions)).toEqual(ordered);
});

it.each([
  ['0.9', '0.9.0'],
  ['v0.11.0', '0.11.0'],
  ['0.11.0+cu130', '0.11.0'],
  ['1.0-rc1', '1.0rc1'],
  [' 1.0 ', '1.0'],
])('takes %j and %j for the same', (a, b) => {
  expect(compareVersions(a, b)).toBe(0);
});

it('compares numbers, not letters, and is the same from both sides', () => {
  const release = fc.array(fc.nat(2000), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(release, release, (a, b) => {
      const [left, right] = [a.join('.'), b.join('.')];
      const difference = [0, 1, 2, 3].map((i) => (a[i] ?? 0) - (b[i] ?? 0)).find((d) => d !== 0) ?? 0;
      expect(Math.sign(compareVersions(left, right))).toBe(Math.sign(difference));
      expect(Math.sign(compareVersions(right, left))).toBe(-Math.sign(difference) + 0);
    }),
  );
});
