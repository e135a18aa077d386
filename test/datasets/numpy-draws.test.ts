import { describe, expect, it } from 'vitest';
import { legacyIntegers, numpyPermutation, numpyShuffle, sampledRows } from '../../src/datasets/making/numpy-draws.ts';
import { shuffledRows } from '../../src/datasets/reading/hf-rows.ts';
import { numpyTwister } from '../../src/kit/mersenne-twister.ts';
import { createRandom } from '../../src/kit/random.ts';
import { order } from './files.ts';

// Expected values: numpy 2.5.5.
it('shuffles as default_rng and as the legacy generator', () => {
  const items = Array.from({ length: 10 }, (_, i) => i);
  numpyShuffle(createRandom(42), items);
  expect(items).toEqual([5, 6, 0, 7, 3, 2, 4, 9, 1, 8]);
  expect(numpyPermutation(numpyTwister(5), 12)).toEqual([7, 5, 2, 9, 11, 4, 8, 1, 0, 10, 6, 3]);
});

it('draws integers as the legacy randint', () => {
  expect(legacyIntegers(numpyTwister(5)).integers(0, 12, 8)).toEqual([3, 6, 6, 0, 9, 8, 4, 7]);
  expect(legacyIntegers(numpyTwister(5)).integers(7, 8, 3)).toEqual([7, 7, 7]);
});

it('takes rows as a DataFrame does', () => {
  expect(sampledRows(numpyTwister(5), 12, 4)).toEqual([7, 5, 2, 9]);
  expect(sampledRows(numpyTwister(5), 12, 13).slice(0, 8)).toEqual([3, 6, 6, 0, 9, 8, 4, 7]);
});

describe.each(Object.entries(order))('%s rows', (length, expected) => {
  it.each([
    ['streamed', false, expected.stream],
    ['in memory', true, expected.memory],
  ])('come %s in the order of the datasets library', async (_, no_stream, { first, last }) => {
    async function* rows() {
      for (let number = 0; number < Number(length); number++) yield { number, row: {} };
    }
    const numbers: number[] = [];
    for await (const { number } of shuffledRows(rows(), { disable_shuffle: false, no_stream, seed: 42 })) {
      numbers.push(number);
    }
    expect([numbers.length, numbers.slice(0, 40), numbers.slice(-40)]).toEqual([Number(length), first, last]);
  });
});
