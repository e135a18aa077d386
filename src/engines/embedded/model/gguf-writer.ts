import { endianness } from 'node:os';
import { ServetuneError } from '../../../kit/errors.ts';
import { bytesOf, type NumberFormat } from './number-format.ts';

/** One key of the metadata as a file holds it: the key, the type of the value, the value. */
export interface EncodedEntry {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** A tensor without its place in a file. */
export interface TensorShape {
  readonly name: string;
  /** Fastest-varying dimension first, as GGUF has it; a matrix is `[columns, rows]`. */
  readonly shape: readonly number[];
  readonly format: NumberFormat;
}

export interface PlacedTensor extends TensorShape {
  /** Bytes from the beginning of the file. */
  readonly start: number;
  readonly bytes: number;
}

export const defaultAlignment = 32;

export const elementsOf = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1);

export const aligned = (bytes: number, alignment: number): number => Math.ceil(bytes / alignment) * alignment;

const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const u64 = (value: number): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
const utf8 = (value: string): Uint8Array => {
  const bytes = Buffer.from(value, 'utf8');
  return Buffer.concat([u64(bytes.length), bytes]);
};

const entry = (key: string, ...value: readonly Uint8Array[]): EncodedEntry => ({
  key,
  bytes: Buffer.concat([utf8(key), ...value]),
});

/** A 32-bit unsigned integer. */
export const uint32 = (key: string, value: number): EncodedEntry => entry(key, u32(4), u32(value));
/** A 32-bit floating-point number. */
export const float32 = (key: string, value: number): EncodedEntry =>
  entry(key, u32(6), new Uint8Array(Float32Array.of(value).buffer));
/** A truth value. */
export const bool = (key: string, value: boolean): EncodedEntry => entry(key, u32(7), Uint8Array.of(value ? 1 : 0));
/** A text. */
export const text = (key: string, value: string): EncodedEntry => entry(key, u32(8), utf8(value));
/** An array of texts. */
export const texts = (key: string, values: readonly string[]): EncodedEntry =>
  entry(key, u32(9), u32(8), u64(values.length), ...values.map(utf8));
/** An array of 32-bit signed integers. */
export const int32s = (key: string, values: readonly number[]): EncodedEntry =>
  entry(key, u32(9), u32(5), u64(values.length), new Uint8Array(Int32Array.from(values).buffer));

/** Trailing dimensions of 1 are not written, as ggml counts dimensions. */
function significant(shape: readonly number[]): readonly number[] {
  let length = shape.length;
  while (length > 1 && shape[length - 1] === 1) length--;
  return shape.slice(0, length);
}

/** Everything that stands before the numbers in a GGUF file of version 3, and where the numbers go. */
export interface Header {
  /** Padded to the alignment: the first tensor follows. */
  readonly bytes: Uint8Array;
  readonly tensors: readonly PlacedTensor[];
  /** Of the whole file, the padding after the last tensor included. */
  readonly fileBytes: number;
}

/** Lays out a file: entries and tensors in the order given, each tensor at a multiple of `alignment`. */
export function layOut(
  entries: readonly EncodedEntry[],
  shapes: readonly TensorShape[],
  alignment = defaultAlignment,
): Header {
  if (endianness() !== 'LE')
    throw new ServetuneError('unsupported_machine', 'model files can be written on little-endian machines only');
  let offset = 0;
  const tensors = shapes.map((shape) => {
    const bytes = bytesOf(shape.format, elementsOf(shape.shape));
    const tensor = { ...shape, offset, bytes };
    offset += aligned(bytes, alignment);
    return tensor;
  });
  const infos = tensors.map(({ name, shape, format, offset }) => {
    const dimensions = significant(shape);
    return Buffer.concat([utf8(name), u32(dimensions.length), ...dimensions.map(u64), u32(format.id), u64(offset)]);
  });
  const counts = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(entries.length)];
  const packed = Buffer.concat([...counts, ...entries.map((e) => e.bytes), ...infos]);
  const bytes = Buffer.alloc(aligned(packed.length, alignment));
  packed.copy(bytes);
  return {
    bytes,
    tensors: tensors.map(({ offset, ...tensor }) => ({ ...tensor, start: bytes.length + offset })),
    fileBytes: bytes.length + offset,
  };
}

/** Zeros that follow a tensor up to the next multiple of `alignment`. */
export const paddingAfter = (bytes: number, alignment = defaultAlignment): Uint8Array =>
  new Uint8Array(aligned(bytes, alignment) - bytes);
