import { formatOf, type TargetFormat } from './number-format.ts';

/**
 * Conversions between the formats of weights, with the rounding of ggml's reference functions (`quantize_row_*_ref`),
 * so that a file made here is the file that `llama-quantize` makes. ggml calculates in single precision, so each step
 * here is rounded to it by `Math.fround` or by being stored in a Float32Array.
 */

const floats = new Float32Array(1);
const bits = new Uint32Array(floats.buffer);

/** Bits of the nearest half-precision number, ties to even; too large gives infinity, any NaN gives 0x7e00 with its sign. */
export function halfOf(value: number): number {
  floats[0] = value;
  const word = bits[0] as number;
  const sign = (word >>> 16) & 0x8000;
  const magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Below the smallest normal half: a multiple of 2^-24. Adding 0.5 in single precision leaves exactly that rounding.
    floats[0] = Math.abs(value);
    floats[0] = (floats[0] as number) + 0.5;
    return sign | ((bits[0] as number) - 0x3f000000);
  }
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
}

/** The number that these 16 bits are in half precision. */
export function ofHalf(half: number): number {
  const exponent = (half >>> 10) & 31;
  const mantissa = half & 1023;
  const magnitude =
    exponent === 0
      ? mantissa * 2 ** -24
      : exponent === 31
        ? mantissa === 0
          ? Infinity
          : NaN
        : (1024 + mantissa) * 2 ** (exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

let halves: Float32Array | undefined;

/** All 65536 half-precision numbers by their bits: looking one up is several times faster than computing it. */
function halfTable(): Float32Array {
  halves ??= Float32Array.from({ length: 65536 }, (_, half) => ofHalf(half));
  return halves;
}

function f16Of(values: Float32Array): Uint8Array {
  const out = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) out[i] = halfOf(values[i] as number);
  return new Uint8Array(out.buffer);
}

/** The upper half of a single-precision number, ties to even; a NaN stays one and becomes quiet. */
function bf16Of(values: Float32Array): Uint8Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const out = new Uint16Array(values.length);
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as number;
    out[i] = (word & 0x7fffffff) > 0x7f800000 ? (word >>> 16) | 64 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return new Uint8Array(out.buffer);
}

/** Blocks of 32: a half-precision scale d = max |x| / 127, then 32 signed bytes round(x / d), halves away from zero. */
function q8Of(values: Float32Array): Uint8Array {
  const words = new Int32Array(values.buffer, values.byteOffset, values.length);
  const out = new Uint8Array((values.length / 32) * 34);
  let at = 0;
  for (let block = 0; block < values.length; block += 32) {
    let largest = 0;
    for (let i = block; i < block + 32; i++) {
      const magnitude = Math.abs(values[i] as number);
      if (magnitude > largest) largest = magnitude;
    }
    const scale = Math.fround(largest / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    const half = halfOf(scale);
    out[at++] = half & 255;
    out[at++] = half >>> 8;
    for (let i = block; i < block + 32; i++) {
      // The sign is put back by its bit: weights change sign at random, and a branch on that costs more than the rest.
      const sign = (words[i] as number) >> 31;
      const magnitude = (Math.abs(Math.fround((values[i] as number) * inverse)) + 0.5) | 0;
      out[at++] = (magnitude ^ sign) - sign;
    }
  }
  return out;
}

/**
 * Blocks of 32: a half-precision scale d = (the x farthest from zero, with its sign) / -8, then 32 numbers of 4 bits,
 * min(15, trunc(x / d + 8.5)); byte j holds number j in its low half and number j + 16 in its high half.
 */
function q4Of(values: Float32Array): Uint8Array {
  const out = new Uint8Array((values.length / 32) * 18);
  let at = 0;
  for (let block = 0; block < values.length; block += 32) {
    let largest = 0;
    let farthest = 0;
    for (let i = block; i < block + 32; i++) {
      const magnitude = Math.abs(values[i] as number);
      if (magnitude > largest) {
        largest = magnitude;
        farthest = values[i] as number;
      }
    }
    const scale = Math.fround(farthest / -8);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    const half = halfOf(scale);
    out[at++] = half & 255;
    out[at++] = half >>> 8;
    for (let i = block; i < block + 16; i++) {
      const low = Math.fround(Math.fround((values[i] as number) * inverse) + 8.5) | 0;
      const high = Math.fround(Math.fround((values[i + 16] as number) * inverse) + 8.5) | 0;
      out[at++] = Math.min(15, low) | (Math.min(15, high) << 4);
    }
  }
  return out;
}

/**
 * The numbers in another format, as a GGUF file holds them (little-endian). Their count is a multiple of the format's
 * block: 32 for `q8_0` and `q4_0`.
 */
export function encodeNumbers(values: Float32Array, target: TargetFormat): Uint8Array {
  switch (target) {
    case 'f32':
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    case 'f16':
      return f16Of(values);
    case 'bf16':
      return bf16Of(values);
    case 'q8_0':
      return q8Of(values);
    case 'q4_0':
      return q4Of(values);
  }
}

/** The formats that hold a number each by itself, from which the others are made. */
export type PlainFormat = Extract<TargetFormat, 'f32' | 'f16' | 'bf16'>;

export const isPlainFormat = (name: string): name is PlainFormat => name === 'f32' || name === 'f16' || name === 'bf16';

/** Reads numbers back, exactly. `bytes` may begin anywhere in its buffer. */
export function decodeNumbers(bytes: Uint8Array, from: TargetFormat): Float32Array {
  const { blockElements, blockBytes } = formatOf(from);
  const count = (bytes.length / blockBytes) * blockElements;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Float32Array(count);
  if (from === 'f32') {
    new Uint8Array(values.buffer).set(bytes);
  } else if (from === 'f16') {
    const table = halfTable();
    const stored = new Uint16Array(count);
    new Uint8Array(stored.buffer).set(bytes);
    for (let i = 0; i < count; i++) values[i] = table[stored[i] as number] as number;
  } else if (from === 'bf16') {
    const words = new Uint32Array(values.buffer);
    for (let i = 0; i < count; i++) words[i] = view.getUint16(2 * i, true) << 16;
  } else {
    for (let block = 0; block < count / 32; block++) {
      const at = block * blockBytes;
      const scale = ofHalf(view.getUint16(at, true));
      for (let i = 0; i < 32; i++)
        values[block * 32 + i] =
          scale *
          (from === 'q8_0'
            ? view.getInt8(at + 2 + i)
            : ((view.getUint8(at + 2 + (i % 16)) >>> (i < 16 ? 0 : 4)) & 15) - 8);
    }
  }
  return values;
}
