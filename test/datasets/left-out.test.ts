import { expect, it } from 'vitest';
import { leftOut } from '../../src/datasets/reading/left-out.ts';

it('says nothing where nothing was left out', () => expect(leftOut('line').note(9)).toBeNull());

it('names the commonest reason first, and the first rows of each in order', () => {
  const left = leftOut('row');
  left.add('with a fault', 70);
  for (const row of [9, 3, 8, 4, 7, 5, 6]) left.add('without a prompt', row);
  expect(left.count()).toBe(8);
  expect(left.note(80)).toBe(
    '8 of the 80 rows read were left out: 7 without a prompt (rows 3, 4, 5, 6, 7, …), 1 with a fault (row 70).',
  );
});
