import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { InputError, messageOf, type Problem, systemCode } from '../../../kit/errors.ts';
import { aligned, defaultAlignment, type EncodedEntry, elementsOf, type PlacedTensor } from './gguf-writer.ts';
import { bytesOf, formatOfId } from './number-format.ts';

/** An array in the metadata. It is kept as bytes, since vocabularies are large and rarely looked at. */
export interface GgufArray {
  readonly elementType: number;
  readonly length: number;
  /** The elements as stored. */
  readonly bytes: Uint8Array;
}

/** Integers of 64 bits are numbers too, and inexact beyond 2^53. */
export type GgufValue = number | boolean | string | GgufArray;

export interface GgufEntry extends EncodedEntry {
  readonly value: GgufValue;
}

/** What stands before the numbers of a GGUF file: its metadata and its list of tensors. */
export interface GgufFile {
  readonly path: string;
  readonly fileBytes: number;
  readonly version: number;
  readonly alignment: number;
  /** In the order of the file; `bytes` are the entry as stored, which is the same in versions 2 and 3. */
  readonly entries: readonly GgufEntry[];
  readonly tensors: readonly PlacedTensor[];
  /** Everything up to the end of the list of tensors, as stored. */
  readonly headerBytes: Uint8Array;
}

/** Sizes of the types of values, by their number in the file; strings (8) and arrays (9) have none. */
const valueBytes: Readonly<Record<number, number>> = {
  0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8,
}; // biome-ignore format: one line

const textType = 8;
const arrayType = 9;

/** llama.cpp takes no more dimensions, and a longer header than this is a damaged length, not a model. */
const mostDimensions = 4;
const mostHeaderBytes = 2 ** 30;

/** Reads forward through the beginning of a file, no further into it than was asked for (rounded up to a chunk). */
function openCursor(fd: number, path: string) {
  const chunkBytes = 1 << 20;
  const fileBytes = fstatSync(fd).size;
  let buffer = Buffer.alloc(0);
  let filled = 0;
  let at = 0;

  const damaged = (position: number, message: string, hint = 'download or copy the file again'): InputError =>
    new InputError([{ place: `${path}, byte ${position}`, message, hint }]);

  function need(count: number, what: string): void {
    if (at + count > fileBytes)
      throw damaged(at, `the file ends at byte ${fileBytes}, inside ${what} (${count} bytes are due here)`);
    if (at + count > mostHeaderBytes) throw damaged(at, `${what} is impossibly long (${count} bytes)`);
    if (at + count <= filled) return;
    if (at + count > buffer.length) {
      const room = Math.min(fileBytes, Math.max(at + count, buffer.length * 2, chunkBytes));
      const larger = Buffer.allocUnsafe(room);
      buffer.copy(larger, 0, 0, filled);
      buffer = larger;
    }
    const goal = Math.min(buffer.length, Math.max(at + count, filled + chunkBytes));
    while (filled < goal) {
      const got = readSync(fd, buffer, filled, goal - filled, filled);
      if (got === 0) throw damaged(filled, `the file became shorter while it was read, inside ${what}`);
      filled += got;
    }
  }

  function take<T>(count: number, what: string, read: (buffer: Buffer, at: number) => T): T {
    need(count, what);
    const value = read(buffer, at);
    at += count;
    return value;
  }

  const u32 = (what: string): number => take(4, what, (b, p) => b.readUInt32LE(p));
  const size = (what: string): number => {
    const value = take(8, what, (b, p) => b.readBigUInt64LE(p));
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged(at - 8, `${what} is impossibly large (${value})`);
    return Number(value);
  };
  return {
    fileBytes,
    damaged,
    u32,
    size,
    position: () => at,
    skip: (count: number, what: string): void => take(count, what, () => undefined),
    text: (what: string): string => {
      const length = size(`the length of ${what}`);
      return take(length, what, (b, p) => b.toString('utf8', p, p + length));
    },
    take,
    /** A view: later reads do not change it. */
    since: (start: number): Uint8Array => buffer.subarray(start, at),
  };
}

type Cursor = ReturnType<typeof openCursor>;

function readScalar(cursor: Cursor, type: number, what: string): number | boolean {
  return cursor.take(valueBytes[type] ?? 0, what, (b, p) => {
    switch (type) {
      case 0:
        return b.readUInt8(p);
      case 1:
        return b.readInt8(p);
      case 2:
        return b.readUInt16LE(p);
      case 3:
        return b.readInt16LE(p);
      case 4:
        return b.readUInt32LE(p);
      case 5:
        return b.readInt32LE(p);
      case 6:
        return b.readFloatLE(p);
      case 7:
        return b.readUInt8(p) !== 0;
      case 10:
        return Number(b.readBigUInt64LE(p));
      case 11:
        return Number(b.readBigInt64LE(p));
      default:
        return b.readDoubleLE(p);
    }
  });
}

function readArray(cursor: Cursor, what: string): GgufArray {
  const typeAt = cursor.position();
  const elementType = cursor.u32(`the type of ${what}`);
  const length = cursor.size(`the length of ${what}`);
  const start = cursor.position();
  const each = valueBytes[elementType];
  if (each !== undefined) {
    cursor.skip(length * each, what);
  } else if (elementType === textType) {
    for (let i = 0; i < length; i++)
      cursor.skip(cursor.size(`the length of text ${i} of ${what}`), `text ${i} of ${what}`);
  } else {
    throw cursor.damaged(typeAt, `${what} is an array of the unknown type ${elementType}`);
  }
  return { elementType, length, bytes: cursor.since(start) };
}

function readEntry(cursor: Cursor, index: number): GgufEntry {
  const start = cursor.position();
  const key = cursor.text(`the name of key ${index}`);
  const what = `the value of ${key || `key ${index}`}`;
  const typeAt = cursor.position();
  const type = cursor.u32(`the type of ${what}`);
  const value =
    type === textType
      ? cursor.text(what)
      : type === arrayType
        ? readArray(cursor, what)
        : type in valueBytes
          ? readScalar(cursor, type, what)
          : undefined;
  if (value === undefined) throw cursor.damaged(typeAt, `${what} has the unknown type ${type}`);
  return { key, value, bytes: cursor.since(start) };
}

/** A tensor whose start is still counted from the first one. */
function readTensor(cursor: Cursor, index: number, alignment: number): PlacedTensor {
  const name = cursor.text(`the name of tensor ${index}`);
  const what = `tensor ${name || index}`;
  const dimensionsAt = cursor.position();
  const dimensions = cursor.u32(`the number of dimensions of ${what}`);
  if (dimensions > mostDimensions) throw cursor.damaged(dimensionsAt, `${what} has ${dimensions} dimensions`);
  const shape = Array.from({ length: dimensions }, (_, i) => cursor.size(`dimension ${i} of ${what}`));
  const formatAt = cursor.position();
  const formatId = cursor.u32(`the number format of ${what}`);
  const format = formatOfId(formatId);
  if (!format)
    throw cursor.damaged(
      formatAt,
      `${what} is in the unknown number format ${formatId}`,
      'a newer servetune may know it',
    );
  const columns = shape[0] ?? 1;
  if (columns % format.blockElements !== 0)
    throw cursor.damaged(
      dimensionsAt,
      `${what} has rows of ${columns}, not a multiple of ${format.name}'s ${format.blockElements}`,
    );
  const bytes = bytesOf(format, elementsOf(shape));
  if (!Number.isSafeInteger(bytes))
    throw cursor.damaged(dimensionsAt, `${what} is impossibly large (${shape.join(' x ')})`);
  const startAt = cursor.position();
  const start = cursor.size(`the place of ${what}`);
  if (start % alignment !== 0)
    throw cursor.damaged(startAt, `${what} starts at ${start}, not at a multiple of the alignment ${alignment}`);
  return { name, shape, format, start, bytes };
}

function readHeader(cursor: Cursor, path: string): GgufFile {
  const magic = cursor.take(4, 'the magic number GGUF', (b, p) => b.toString('latin1', p, p + 4));
  if (magic !== 'GGUF')
    throw cursor.damaged(
      0,
      'not a GGUF file: it does not begin with GGUF',
      'give a .gguf file, such as convert_hf_to_gguf.py makes',
    );
  const version = cursor.u32('the version');
  if ((version & 0xffff) === 0) throw cursor.damaged(4, 'the file is big-endian', 'give a little-endian file');
  if (version !== 2 && version !== 3)
    throw cursor.damaged(4, `GGUF version ${version} cannot be read`, 'give a file of version 2 or 3');
  const tensorCount = cursor.size('the number of tensors');
  const entryCount = cursor.size('the number of keys');
  const entries: GgufEntry[] = [];
  for (let i = 0; i < entryCount; i++) entries.push(readEntry(cursor, i));
  const alignment = entries.find(({ key }) => key === 'general.alignment')?.value ?? defaultAlignment;
  if (typeof alignment !== 'number' || !Number.isInteger(Math.log2(alignment)))
    throw cursor.damaged(cursor.position(), `general.alignment is ${String(alignment)}, not a power of 2`);
  const tensors: PlacedTensor[] = [];
  for (let i = 0; i < tensorCount; i++) tensors.push(readTensor(cursor, i, alignment));
  const dataStart = aligned(cursor.position(), alignment);
  return {
    path,
    fileBytes: cursor.fileBytes,
    version,
    alignment,
    entries,
    tensors: tensors.map((tensor) => ({ ...tensor, start: dataStart + tensor.start })),
    headerBytes: cursor.since(0),
  };
}

/** Opening a pipe would wait for its writer, so the kind of file is looked at before. */
const notRegular = (path: string, isDirectory: boolean): InputError =>
  new InputError([
    isDirectory
      ? { place: path, message: 'this is a directory', hint: 'give the .gguf file in it' }
      : { place: path, message: 'this is not a regular file', hint: 'give the path of a .gguf file' },
  ]);

function unreadable(path: string, error: unknown): InputError {
  const code = systemCode(error);
  const message =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? 'there is no such file'
      : code === 'EACCES'
        ? 'the file may not be read'
        : messageOf(error);
  return new InputError([{ place: path, message, hint: 'give the path of a .gguf file' }]);
}

/**
 * Reads the metadata and the list of tensors of a GGUF file of version 2 or 3, and nothing of the numbers, however large
 * the file. Throws an InputError that names the byte at which it is damaged and what is missing there.
 */
export function readGguf(path: string): GgufFile {
  let fd: number;
  try {
    const found = statSync(path);
    if (!found.isFile()) throw notRegular(path, found.isDirectory());
    fd = openSync(path, 'r');
  } catch (error) {
    throw error instanceof InputError ? error : unreadable(path, error);
  }
  try {
    return readHeader(openCursor(fd, path), path);
  } finally {
    closeSync(fd);
  }
}

/** The value of a key, or undefined. */
export const metadataOf = ({ entries }: GgufFile, key: string): GgufValue | undefined =>
  entries.find((entry) => entry.key === key)?.value;

/** Tensors whose numbers lie beyond the end of the file: it was cut off. One problem, for the first of them. */
export function missingData({ path, fileBytes, tensors }: GgufFile): readonly Problem[] {
  const cut = tensors.filter(({ start, bytes }) => start + bytes > fileBytes);
  const [first] = cut;
  if (!first) return [];
  const due = Math.max(...cut.map(({ start, bytes }) => start + bytes));
  return [
    {
      place: `${path}, byte ${fileBytes}`,
      message: `the file is cut off: ${cut.length} of ${tensors.length} tensors are not whole, the first is ${first.name}; ${due - fileBytes} bytes are missing`,
      hint: 'download or copy the file again',
    },
  ];
}
