import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../src/kit/random.ts';

interface Vectors {
  seeds: {
    seed: number | number[];
    raw64: string[];
    integers: { low: number; high: number; values: number[] }[];
    interleaved: { random: number[]; whole32: number[]; small: number[]; after: number; tokens: number[] };
    sequence: number[][];
  }[];
  million: { seed: number; high: number; sum: number; last: number[] };
}
const vectors: Vectors = JSON.parse(
  readFileSync(new URL('../fixtures/datasets/numpy-random.json', import.meta.url), 'utf8'),
);

describe.each(vectors.seeds)('default_rng($seed)', ({ seed, raw64, integers, interleaved, sequence }) => {
  it('gives the same raw outputs', () => {
    const random = createRandom(seed);
    expect(raw64.map(() => String(random.next64()))).toEqual(raw64);
  });

  it('hands out each output as its low half, then its high half', () => {
    const random = createRandom(seed);
    const halves = raw64.flatMap((raw) => [Number(BigInt(raw) & 0xffffffffn), Number(BigInt(raw) >> 32n)]);
    expect(halves.map(() => random.next32())).toEqual(halves);
  });

  it.each(integers)('draws integers from [$low, $high)', ({ low, high, values }) => {
    expect(createRandom(seed).integers(low, high, values.length)).toEqual(values);
  });

  it('keeps a buffered half over calls', () => {
    const random = createRandom(seed);
    expect(sequence.map((_, i) => random.integers(...(sequenceRanges[i] as [number, number]), 5))).toEqual(sequence);
  });

  it('draws doubles and integers in turn', () => {
    const random = createRandom(seed);
    expect({
      random: [random.random(), random.random(), random.random()],
      whole32: random.integers(0, 2 ** 32, 3),
      small: random.integers(-5, 3, 4),
      after: random.random(),
      tokens: random.integers(0, 151643, 2),
    }).toEqual(interleaved);
  });
});

const sequenceRanges = [[716, 1333], [89, 168], [0, 151643], [0, 151643]]; // biome-ignore format: one line

it('draws nothing when only one value is possible', () => {
  const [one, other] = [createRandom(42), createRandom(42)];
  expect(one.integers(128, 129, 1000).every((n) => n === 128)).toBe(true);
  expect(one.next64()).toBe(other.next64());
});

it('stays exact over a million draws', () => {
  const { seed, high, sum, last } = vectors.million;
  const drawn = createRandom(seed).integers(0, high, 1_000_000);
  expect(drawn.reduce((a, b) => a + b, 0)).toBe(sum);
  expect(drawn.slice(-3)).toEqual(last);
});

it.each([
  ['an empty range', () => createRandom(0).integers(3, 3, 1)],
  ['a range that is too wide', () => createRandom(0).integers(0, 2 ** 32 + 1, 1)],
  ['a negative seed', () => createRandom(-1)],
  ['a broken seed', () => createRandom(0.5)],
])('refuses %s', (_, draw) => {
  expect(draw).toThrow(RangeError);
});
