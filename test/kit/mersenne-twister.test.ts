import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gammaDraws, numpyTwister, pythonBelow, pythonShuffle, pythonTwister } from '../../src/kit/mersenne-twister.ts';

type Vectors = Readonly<Record<string, readonly number[]>>;
const seeds: Readonly<Record<string, Vectors>> = JSON.parse(
  readFileSync(new URL('../fixtures/datasets/rng-vectors.json', import.meta.url), 'utf8'),
).seeds;
const all = Object.entries(seeds).map(([seed, vectors]) => ({ seed: Number(seed), vectors }));
const draws = <T>(n: number, draw: () => T): T[] => Array.from({ length: n }, draw);
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe.each(all)("Python's random.seed($seed)", ({ seed, vectors }) => {
  it('gives the same bits and doubles', () => {
    const [bits, doubles] = [pythonTwister(seed), pythonTwister(seed)];
    expect(draws(10, bits.next32)).toEqual(vectors.py_getrandbits32);
    expect(draws(10, doubles.random)).toEqual(vectors.py_random);
  });

  it.each([10, 60])('shuffles %i things alike', (n) => {
    const items = upTo(n);
    pythonShuffle(pythonTwister(seed), items);
    expect(items).toEqual(vectors[`py_shuffle(range(${n}))`]);
  });

  it('chooses alike, one by one and many at once', () => {
    const [single, many] = [pythonTwister(seed), pythonTwister(seed)];
    expect(draws(10, () => pythonBelow(single, 39))).toEqual(vectors['py_choice(range(39)) x10']);
    expect(draws(10, () => Math.floor(many.random() * 39))).toEqual(vectors['py_choices(range(39),k=10)']);
  });
});

const legacy = all.filter(({ vectors }) => vectors.np_legacy_random_sample);
it('has vectors of numpy for every seed that its legacy generator takes', () => {
  expect(legacy.map(({ seed }) => seed).sort((a, b) => a - b)).toEqual([0, 42]);
});

describe.each(legacy)('numpy.random.seed($seed)', ({ seed, vectors }) => {
  it('gives the same doubles', () => {
    expect(draws(10, numpyTwister(seed).random)).toEqual(vectors.np_legacy_random_sample);
  });

  it.each(['1.0', '0.5', '2.5'])('draws from the gamma distribution of shape %s', (shape) => {
    const wanted = vectors[`np_legacy_gamma(shape=${shape},scale=1)`] as readonly number[];
    const drawn = draws(10, gammaDraws(numpyTwister(seed), Number(shape)));
    expect(wanted).toHaveLength(10);
    for (const [i, value] of drawn.entries()) {
      const exact = wanted[i] as number;
      expect(Math.abs(value - exact)).toBeLessThanOrEqual(1e-12 * exact);
    }
  });
});

it('seeds with both words of a large seed, and refuses what is none', () => {
  const first = (seed: number) => pythonTwister(seed).next32();
  expect(new Set([0, 1, 2 ** 32, 2 ** 32 + 1].map(first)).size).toBe(4);
  for (const seed of [-1, 0.5, 2 ** 53, Number.NaN]) expect(() => pythonTwister(seed)).toThrow(RangeError);
});

it('goes on past its state of 624 words: the ten thousandth output of the reference implementation', () => {
  // The C++ standard names it for the seed 5489.
  const { next32 } = numpyTwister(5489);
  for (let i = 1; i < 10_000; i++) next32();
  expect(next32()).toBe(4_123_659_995);
});

it('draws below n evenly, and never n', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 32 - 1 }), fc.nat(), (n, seed) => {
      const generator = pythonTwister(seed);
      for (let i = 0; i < 20; i++) {
        const drawn = pythonBelow(generator, n);
        expect(Number.isInteger(drawn) && drawn >= 0 && drawn < n).toBe(true);
      }
    }),
  );
  const generator = pythonTwister(3);
  const counts = new Array<number>(10).fill(0);
  for (let i = 0; i < 100_000; i++) (counts[pythonBelow(generator, 10)] as number)++;
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
});

it.each([0, -1, 1.5, 2 ** 32])('draws nothing below %f', (n) => {
  expect(() => pythonBelow(pythonTwister(0), n)).toThrow(RangeError);
});
