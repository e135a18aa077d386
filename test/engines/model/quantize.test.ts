import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeNumbers, encodeNumbers, halfOf, ofHalf } from '../../../src/engines/embedded/model/quantize.ts';

const anyFloat = fc.float({ noNaN: true });
const weight = fc.float({ min: -4, max: 4, noNaN: true });
const blocks = fc
  .array(fc.array(weight, { minLength: 32, maxLength: 32 }), { minLength: 1, maxLength: 4 })
  .map((all) => Float32Array.from(all.flat()));

/** Largest half-precision number, and the step between numbers around one of this size. */
const largestHalf = 65504;
const halfStep = (x: number): number => 2 ** (Math.max(-14, Math.floor(Math.log2(Math.abs(x) || 1e-9))) - 10);

describe('half precision', () => {
  it('gives back all 65536 bit patterns', () => {
    const wrong: number[] = [];
    for (let half = 0; half < 65536; half++) {
      const value = ofHalf(half);
      const right = Number.isNaN(value) ? (halfOf(value) & 0x7fff) === 0x7e00 : halfOf(value) === half;
      if (!right) wrong.push(half);
    }
    expect(wrong).toEqual([]);
  });

  it('takes the nearest number', () => {
    fc.assert(
      fc.property(fc.float({ min: -65504, max: 65504, noNaN: true }), (x) => {
        expect(Math.abs(ofHalf(halfOf(x)) - x)).toBeLessThanOrEqual(halfStep(x) / 2);
      }),
    );
  });

  it('takes the even one of two that are equally near, and infinity beyond the largest', () => {
    expect(halfOf(1 + 2 ** -11)).toBe(0x3c00);
    expect(halfOf(1 + 3 * 2 ** -11)).toBe(0x3c02);
    expect(halfOf(2 ** -25)).toBe(0);
    expect(halfOf(3 * 2 ** -25)).toBe(2);
    expect(halfOf(-(2 ** -24))).toBe(0x8001);
    expect(halfOf(largestHalf + 15.99)).toBe(0x7bff);
    expect(halfOf(largestHalf + 16)).toBe(0x7c00);
    expect(halfOf(-Infinity)).toBe(0xfc00);
    expect(halfOf(-0)).toBe(0x8000);
  });
});

describe('bf16', () => {
  it('keeps 8 bits of every number', () => {
    fc.assert(
      fc.property(anyFloat, (x) => {
        const [back = NaN] = decodeNumbers(encodeNumbers(Float32Array.of(x), 'bf16'), 'bf16');
        if (Number.isFinite(back)) expect(Math.abs(back - x)).toBeLessThanOrEqual(Math.abs(x) * 2 ** -8 + 2 ** -133);
        else expect(Math.abs(x)).toBeGreaterThan(3.38e38);
      }),
    );
  });

  it('takes the even one of two that are equally near, and keeps a NaN one', () => {
    const bits = (x: number): number =>
      new DataView(encodeNumbers(Float32Array.of(x), 'bf16').buffer).getUint16(0, true);
    expect(bits(1 + 2 ** -8)).toBe(0x3f80);
    expect(bits(1 + 3 * 2 ** -8)).toBe(0x3f82);
    expect(decodeNumbers(encodeNumbers(Float32Array.of(NaN), 'bf16'), 'bf16')[0]).toBeNaN();
  });
});

const largestOf = (values: Float32Array, block: number): number =>
  Math.max(...values.subarray(block * 32, block * 32 + 32).map(Math.abs));

/** The scale of a block is a half-precision number: its own rounding error, as much as `steps` times. */
const scaleError = (scale: number, steps: number): number => (halfStep(scale) / 2) * steps;

describe('q8_0', () => {
  it('is within half a step of every number', () => {
    fc.assert(
      fc.property(blocks, (values) => {
        const back = decodeNumbers(encodeNumbers(values, 'q8_0'), 'q8_0');
        expect(back).toHaveLength(values.length);
        values.forEach((x, i) => {
          const step = largestOf(values, i >> 5) / 127;
          expect(Math.abs((back[i] as number) - x)).toBeLessThanOrEqual(step * 0.5001 + scaleError(step, 127) + 1e-30);
        });
      }),
    );
  });

  it('rounds halves away from zero', () => {
    const values = new Float32Array(32);
    values.set([127, 0.5, -0.5, 1.5, -1.5, 2.4, -2.6, -127]);
    const bytes = encodeNumbers(values, 'q8_0');
    expect([...bytes.subarray(0, 2)]).toEqual([0, 0x3c]); // 1.0
    expect([...new Int8Array(bytes.buffer, 2, 8)]).toEqual([127, 1, -1, 2, -2, 2, -3, -127]);
  });
});

describe('q4_0', () => {
  it('is within half a step of every number, a whole one at the end opposite to the farthest', () => {
    fc.assert(
      fc.property(blocks, (values) => {
        const back = decodeNumbers(encodeNumbers(values, 'q4_0'), 'q4_0');
        expect(back).toHaveLength(values.length);
        values.forEach((x, i) => {
          const step = largestOf(values, i >> 5) / 8;
          const whole = Math.abs(x) > 7.49 * step;
          expect(Math.abs((back[i] as number) - x)).toBeLessThanOrEqual(
            step * (whole ? 1.0001 : 0.5001) + scaleError(step, 8) + 1e-30,
          );
        });
      }),
    );
  });

  it('packs number j and number j + 16 into a byte, with the sign of the farthest in the scale', () => {
    const values = new Float32Array(32);
    values.set([8, 1, -1, 7.9, -8]);
    values.set([0.4, -0.6, 3], 16);
    const bytes = encodeNumbers(values, 'q4_0');
    expect([...bytes.subarray(0, 2)]).toEqual([0, 0xbc]); // -1.0
    expect([...bytes.subarray(2, 8)]).toEqual([0x80, 0x97, 0x59, 0x80, 0x8f, 0x88]);
  });
});

it.each(['q8_0', 'q4_0'] as const)('%s of zeros is zeros', (target) => {
  expect(decodeNumbers(encodeNumbers(new Float32Array(64), target), target).every((x) => x === 0)).toBe(true);
});

it('reads bytes that begin anywhere in their buffer', () => {
  const shifted = new Uint8Array(9);
  shifted.set(encodeNumbers(Float32Array.of(1.5, -2), 'f32'), 1);
  expect([...decodeNumbers(shifted.subarray(1), 'f32')]).toEqual([1.5, -2]);
  expect([...decodeNumbers(shifted.subarray(1), 'f16')]).toHaveLength(4);
});
