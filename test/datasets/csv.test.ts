import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CsvRow, csvRows } from '../../src/datasets/reading/csv.ts';
import { fileOf, problemsOf } from './files.ts';

const { signal } = new AbortController();
const rowsOf = async (content: string, delimiter?: string) => {
  const rows: CsvRow[] = [];
  for await (const row of csvRows(fileOf(content), signal, delimiter)) rows.push(row);
  return rows;
};
const cellsOf = async (content: string, delimiter?: string) => (await rowsOf(content, delimiter)).map((r) => r.cells);

it('reads cells, empty ones too, in rows of any line break', async () => {
  expect(await cellsOf('a,b\r\n1,\n,2\r,\n')).toEqual([
    ['a', 'b'],
    ['1', ''],
    ['', '2'],
    ['', ''],
  ]);
  expect(await cellsOf('a\tb,c\n', '\t')).toEqual([['a', 'b,c']]);
});

it('reads quoted cells with delimiters, quotes and line breaks', async () => {
  expect(await cellsOf('"a,b","say ""so""","x\r\ny",""\n')).toEqual([['a,b', 'say "so"', 'x\r\ny', '']]);
  expect(await cellsOf('a "b" c,d\n')).toEqual([['a "b" c', 'd']]);
});

it('skips blank lines and counts the lines of the file', async () => {
  expect(await rowsOf('\ufeffa\n\n\r\n"b\nc"\nd')).toEqual([
    { line: 1, cells: ['a'] },
    { line: 4, cells: ['b\nc'] },
    { line: 6, cells: ['d'] },
  ]);
});

it('says where a quote was left open', async () => {
  const [problem] = await problemsOf(rowsOf('a,b\n1,"2\n3\n'));
  expect(problem).toMatchObject({
    place: '--dataset-path',
    message: expect.stringContaining('line 2'),
    hint: 'close the quote',
  });
});

it('gives back any table that was written', async () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é', '\ud83d\ude00') });
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
      fc.constantFrom('\n', '\r\n'),
      async (table, end) => {
        expect(await cellsOf(table.map((row) => row.map(quoted).join() + end).join(''))).toEqual(table);
      },
    ),
    { numRuns: 100 },
  );
});
