import type { MersenneTwister } from '../../kit/mersenne-twister.ts';
import type { Random } from '../../kit/random.ts';

/** Either of numpy's generators: all that these draws need of it. */
type Bits = Pick<Random, 'next32'>;

/**
 * A whole number in [0, most], `most` up to 2^32 - 1: the low bits of a draw, drawn again while they are too large. The
 * legacy `randint` draws so, and `shuffle` and `permutation` of both generators. Nothing is drawn for 0.
 */
function maskedUpTo(bits: Bits, most: number): number {
  if (most === 0) return 0;
  const mask = 2 ** (32 - Math.clz32(most)) - 1;
  for (;;) {
    const drawn = (bits.next32() & mask) >>> 0;
    if (drawn <= most) return drawn;
  }
}

/** Shuffles in place as numpy's `shuffle` does, of the legacy generator and of `default_rng` alike. */
export function numpyShuffle<T>(bits: Bits, items: T[]): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = maskedUpTo(bits, i);
    [items[i], items[j]] = [items[j] as T, items[i] as T];
  }
}

/** The whole numbers below `n`, shuffled: numpy's `permutation(n)`. */
export function numpyPermutation(bits: Bits, n: number): number[] {
  const items = Array.from({ length: n }, (_, i) => i);
  numpyShuffle(bits, items);
  return items;
}

/** `numpy.random.randint` of the legacy generator. */
export const legacyIntegers = (generator: MersenneTwister): Pick<Random, 'integers'> => ({
  integers: (low, high, size) => Array.from({ length: size }, () => low + maskedUpTo(generator, high - low - 1)),
});

/**
 * Which `count` of `rows` rows pandas' `DataFrame.sample(count, random_state=seed)` takes, in its order: the beginning of
 * a permutation, or where there are fewer rows, draws with replacement. `generator` is the one of the seed.
 */
export function sampledRows(generator: MersenneTwister, rows: number, count: number): number[] {
  return count <= rows
    ? numpyPermutation(generator, rows).slice(0, count)
    : legacyIntegers(generator).integers(0, rows, count);
}
