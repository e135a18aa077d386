import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { type GgufArray, metadataOf, missingData, readGguf } from '../../../src/engines/embedded/model/gguf.ts';
import { bool, float32, int32s, layOut, text, texts, uint32 } from '../../../src/engines/embedded/model/gguf-writer.ts';
import { formatOf } from '../../../src/engines/embedded/model/number-format.ts';
import { InputError } from '../../../src/kit/errors.ts';

const folder = mkdtempSync(join(tmpdir(), 'gguf-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function fileOf(bytes: Uint8Array): string {
  const path = join(folder, `${files++}.gguf`);
  writeFileSync(path, bytes);
  return path;
}

const small = layOut(
  [text('general.architecture', 'qwen3'), uint32('a.count', 7), float32('a.ratio', 0.5), bool('a.truth', true),
   texts('a.words', ['one', 'zwei', '三']), int32s('a.numbers', [1, -2]), text('a.empty', '')],
  [{ name: 'm.weight', shape: [64, 3], format: formatOf('q8_0') }, { name: 'n', shape: [5], format: formatOf('f32') }],
); // biome-ignore format: short lines say more here
const smallFile = (): Buffer => Buffer.concat([small.bytes, Buffer.alloc(small.fileBytes - small.bytes.length, 1)]);

/** The one problem with a file of these bytes: the byte that it names, and its words. */
function refusal(bytes: Uint8Array): { byte: number; message: string } {
  const path = fileOf(bytes);
  try {
    readGguf(path);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    expect(error.problems).toHaveLength(1);
    const { place = '', message = '', hint } = error.problems[0] ?? {};
    expect(hint).toBeTruthy();
    expect(place.startsWith(`${path}, byte `)).toBe(true);
    return { byte: Number(place.slice(`${path}, byte `.length)), message };
  }
  throw new Error('the file was taken');
}

describe('a whole file', () => {
  it('is read as it was written', () => {
    const file = readGguf(fileOf(smallFile()));
    expect(missingData(file)).toEqual([]);
    expect(file.entries.map(({ key }) => key)).toEqual([
      'general.architecture', 'a.count', 'a.ratio', 'a.truth', 'a.words', 'a.numbers', 'a.empty',
    ]); // biome-ignore format: one list
    expect(metadataOf(file, 'general.architecture')).toBe('qwen3');
    expect(metadataOf(file, 'a.count')).toBe(7);
    expect(metadataOf(file, 'a.ratio')).toBe(0.5);
    expect(metadataOf(file, 'a.truth')).toBe(true);
    expect(metadataOf(file, 'a.empty')).toBe('');
    expect(metadataOf(file, 'absent')).toBeUndefined();
    expect((metadataOf(file, 'a.words') as GgufArray).length).toBe(3);
    expect([...(metadataOf(file, 'a.numbers') as GgufArray).bytes]).toEqual([1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    expect(file.tensors).toEqual(small.tensors);
    expect(file.tensors.map(({ bytes }) => bytes)).toEqual([204, 20]);
    expect(file.tensors.every(({ start }) => start % 32 === 0)).toBe(true);
    expect(Buffer.concat([file.headerBytes, Buffer.alloc(small.bytes.length - file.headerBytes.length)])).toEqual(
      Buffer.from(small.bytes),
    );
  });

  it('of version 2 is read too', () => {
    const bytes = smallFile();
    bytes.writeUInt32LE(2, 4);
    expect(readGguf(fileOf(bytes))).toMatchObject({ version: 2, tensors: small.tensors });
  });

  it('may have any metadata and any shapes', () => {
    const key = fc.string({ minLength: 1, unit: 'binary' });
    const entry = fc.oneof(
      fc.tuple(key, fc.string({ unit: 'binary' })).map(([k, v]) => ({ encoded: text(k, v), value: v })),
      fc.tuple(key, fc.nat()).map(([k, v]) => ({ encoded: uint32(k, v), value: v })),
      fc.tuple(key, fc.boolean()).map(([k, v]) => ({ encoded: bool(k, v), value: v })),
      fc.tuple(key, fc.float({ noNaN: true })).map(([k, v]) => ({ encoded: float32(k, v), value: v })),
    );
    const shape = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(entry), fc.array(shape), fc.constantFrom(8, 32, 128), (entries, shapes, alignment) => {
        const header = layOut(
          [uint32('general.alignment', alignment), ...entries.map(({ encoded }) => encoded)],
          shapes.map((dimensions, i) => ({ name: `t${i}`, shape: dimensions, format: formatOf('f16') })),
          alignment,
        );
        const file = readGguf(fileOf(header.bytes));
        expect(file.entries.slice(1).map(({ value }) => value)).toEqual(entries.map(({ value }) => value));
        expect(file.entries.slice(1).map(({ bytes }) => [...bytes])).toEqual(
          entries.map(({ encoded }) => [...encoded.bytes]),
        );
        expect(file.tensors.map(({ start, bytes }) => [start, bytes])).toEqual(
          header.tensors.map(({ start, bytes }) => [start, bytes]),
        );
      }),
      { numRuns: 50 },
    );
  });

  it('is not read beyond its list of tensors, however large', () => {
    const shape = [2 ** 20, 2 ** 18];
    const header = layOut([], [{ name: 'huge.weight', shape, format: formatOf('f16') }]);
    const path = fileOf(header.bytes);
    truncateSync(path, header.fileBytes); // half a terabyte of nothing: a sparse file
    const file = readGguf(path);
    expect(file.fileBytes).toBeGreaterThan(5e11);
    expect(missingData(file)).toEqual([]);
  });
});

describe('a damaged file', () => {
  const headerBytes = readGguf(fileOf(smallFile())).headerBytes.length;

  it.each(Array.from({ length: Math.ceil(headerBytes / 7) }, (_, i) => i * 7))('cut off at byte %i says so', (end) => {
    const { byte, message } = refusal(smallFile().subarray(0, end));
    expect(byte).toBeLessThanOrEqual(end);
    expect(message).toContain(`the file ends at byte ${end}, inside `);
  });

  it('cut off in its numbers says how much is missing', () => {
    const whole = smallFile();
    const path = fileOf(whole.subarray(0, small.bytes.length + 100));
    const file = readGguf(path);
    expect(missingData(file)).toEqual([
      {
        place: `${path}, byte ${small.bytes.length + 100}`,
        message: 'the file is cut off: 2 of 2 tensors are not whole, the first is m.weight; 144 bytes are missing',
        hint: expect.any(String),
      },
    ]);
  });

  it('never gives anything but a problem or a file, whatever byte is wrong', () => {
    fc.assert(
      fc.property(fc.nat({ max: headerBytes - 1 }), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const bytes = smallFile();
        bytes[at] = (bytes[at] as number) ^ change;
        try {
          readGguf(fileOf(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(InputError);
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['a zip file', Buffer.from('PK\u0003\u0004 and so on and so on'), 0, /not a GGUF file/],
    ['an empty file', Buffer.alloc(0), 0, /ends at byte 0, inside the magic number/],
    ['a big-endian file', Buffer.from('GGUF\0\0\0\u0003\0\0\0\0\0\0\0\0'), 4, /big-endian/],
    ['version 1', Buffer.from('GGUF\u0001\0\0\0\0\0\0\0\0\0\0\0'), 4, /version 1 cannot be read/],
    ['version 4', Buffer.from('GGUF\u0004\0\0\0\0\0\0\0\0\0\0\0'), 4, /version 4 cannot be read/],
  ])('%s is refused', (_, bytes, byte, message) => {
    const refused = refusal(bytes);
    expect(refused.byte).toBe(byte);
    expect(refused.message).toMatch(message);
  });

  const withEntry = (...bytes: readonly number[]): Buffer => {
    const counts = [...layOut([], []).bytes.subarray(0, 16), 1, 0, 0, 0, 0, 0, 0, 0];
    return Buffer.from([...counts, 1, 0, 0, 0, 0, 0, 0, 0, 107, ...bytes]);
  };
  const far = [255, 255, 255, 255, 255, 255, 15, 0];

  it.each([
    ['an unknown type', withEntry(13, 0, 0, 0), 33, /value of k has the unknown type 13/],
    ['an array of an unknown type', withEntry(9, 0, 0, 0, 9, 0, 0, 0, ...far), 37, /array of the unknown type 9/],
    ['a text of petabytes', withEntry(8, 0, 0, 0, ...far), 45, /inside the value of k \(4503599627370495 bytes/],
    ['an array of petabytes', withEntry(9, 0, 0, 0, 5, 0, 0, 0, ...far), 49, /inside the value of k/],
    ['a length beyond all numbers', withEntry(8, 0, 0, 0, ...far.map(() => 255)), 37, /impossibly large/],
  ])('%s is refused', (_, bytes, byte, message) => {
    const refused = refusal(bytes);
    expect(refused.byte).toBe(byte);
    expect(refused.message).toMatch(message);
  });
});
