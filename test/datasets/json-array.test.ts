import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { jsonArray } from '../../src/datasets/reading/json-array.ts';
import { InputError } from '../../src/kit/errors.ts';

const folder = mkdtempSync(join(tmpdir(), 'json-array-'));
afterAll(() => rmSync(folder, { recursive: true }));

const fileOf = (content: string | Uint8Array): string => {
  const path = join(folder, randomBytes(6).toString('hex'));
  writeFileSync(path, content);
  return path;
};
const never = new AbortController().signal;
async function rowsOf(path: string, signal = never): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const row of jsonArray(path, '--dataset-path', signal)) rows.push(row);
  return rows;
}

it('gives what JSON.parse gives, however it is written', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, '\t', '\n'), async (rows, indent) => {
      const text = JSON.stringify(rows, null, indent);
      expect(await rowsOf(fileOf(text))).toEqual(JSON.parse(text));
    }),
    { numRuns: 150 },
  );
});

it.each([
  ['an empty array', '[]', []],
  ['spaces around', ' \r\n[ \t1 , 2 ]\n ', [1, 2]],
  ['a byte order mark', '\ufeff[1]', [1]],
  [
    'brackets, commas and escaped quotes in strings',
    String.raw`["],[{\"", "\\", {"a\\\"]": "}"}]`,
    ['],[{"', '\\', { 'a\\"]': '}' }],
  ],
  ['one half of a surrogate pair', String.raw`["\ud800"]`, ['\ud800']],
])('takes %s', async (_, text, rows) => {
  expect(await rowsOf(fileOf(text))).toEqual(rows);
});

it.each([
  ['nothing', '', 'is empty'],
  ['an object', '{"a": []}', 'does not hold a JSON array'],
  ['two arrays', '[1] [2]', 'has more than one JSON array'],
  ['a file cut off in a string', '[{"a": 1}, {"a": "x', 'ends in the middle of row 2'],
  ['a file cut off between rows', '[{"a": 1},', 'ends in the middle of row 2'],
  ['a comma too many', '[1,2,]', 'is not valid JSON at row 3'],
  ['a comma alone', '[,]', 'is not valid JSON at row 1'],
  ['a row that is no JSON', '[{"a": 1}, {a: 1}, 3]', 'is not valid JSON at row 2'],
  ['brackets that do not fit', '[{"a": [1}}, 2]', 'is not valid JSON at row 1'],
])('refuses %s', async (_, text, message) => {
  const path = fileOf(text);
  const error = await rowsOf(path).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(InputError);
  expect((error as InputError).problems).toEqual([
    { place: '--dataset-path', message: expect.stringContaining(`${path} ${message}`), hint: expect.any(String) },
  ]);
});

it('refuses what cannot be read', async () => {
  await expect(rowsOf(join(folder, 'none'))).rejects.toThrow(/none cannot be read: ENOENT/);
  await expect(rowsOf(folder)).rejects.toThrow(/cannot be read: EISDIR/);
});

it('gives the rows in front of one that is broken', async () => {
  const rows: unknown[] = [];
  const read = async () => {
    for await (const row of jsonArray(fileOf('[1, 2, x]'), '--dataset-path', never)) rows.push(row);
  };
  await expect(read()).rejects.toThrow(InputError);
  expect(rows).toEqual([1, 2]);
});

it('stops when told to', async () => {
  await expect(rowsOf(fileOf('[1]'), AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
});

describe('a file of many reads', () => {
  // Rows of every size around that of one read, with the marks that a cut could fall between.
  const row = (i: number): unknown => ({ i, text: `\\"é😀\u2028${'x'.repeat((i * 7919) % 900_000)}\\` });

  it('is put together again', async () => {
    const path = join(folder, 'large');
    const file = await open(path, 'w');
    const count = 40;
    await file.write('[');
    for (let i = 0; i < count; i++) await file.write(`${i === 0 ? '' : ',\n'}${JSON.stringify(row(i))}`);
    await file.write(`,"${'\\\\'.repeat(3_000_000)}"]`);
    await file.close();
    let i = 0;
    for await (const found of jsonArray(path, '--dataset-path', never)) {
      if (i < count) expect(found).toEqual(row(i));
      else expect(found).toBe('\\'.repeat(3_000_000));
      i++;
    }
    expect(i).toBe(count + 1);
  });
});
