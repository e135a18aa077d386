import { fileError, textPieces } from './dataset-file.ts';

/** No cell of a table of requests is longer: what is, is another kind of file. */
const longestCell = 64 << 20;

export interface CsvRow {
  /** The line on which it begins, counted from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * The rows of a CSV file, the header being the first. Cells in double quotes may hold the delimiter, line breaks and
 * doubled quotes; rows end in LF, CRLF or CR; blank lines are no rows. Throws an InputError when the file ends within a
 * quoted cell.
 */
export async function* csvRows(path: string, signal: AbortSignal, delimiter = ','): AsyncGenerator<CsvRow> {
  let line = 1;
  let rowLine = 1;
  let quoteLine = 0;
  let cells: string[] = [];
  let cell = '';
  let state: 'start' | 'plain' | 'quoted' | 'quote' = 'start';
  let afterReturn = false;

  const endCell = (): void => {
    cells.push(cell);
    cell = '';
    state = 'start';
  };
  const endRow = (): CsvRow | null => {
    const blank = cells.length === 0 && state === 'start';
    if (!blank) endCell();
    const row = { line: rowLine, cells };
    cells = [];
    rowLine = line;
    return blank ? null : row;
  };

  for await (const piece of textPieces(path, signal)) {
    if (cell.length > longestCell) {
      throw fileError(
        `line ${line} has a cell of over ${longestCell >> 20} MiB`,
        'a row of a CSV file is a line of it',
      );
    }
    for (const char of piece) {
      const second = afterReturn && char === '\n';
      afterReturn = char === '\r';
      if (!second && (char === '\n' || char === '\r')) line++;
      if (state === 'quoted') {
        if (char === '"') state = 'quote';
        else cell += char;
      } else if (second) {
        // The line break that the CR before it has already made.
      } else if (char === '\n' || char === '\r') {
        const row = endRow();
        if (row) yield row;
      } else if (char === delimiter) endCell();
      else if (char === '"' && state !== 'plain') {
        // A quote at the beginning opens a cell; one right after a closing quote stands for itself.
        if (state === 'start') quoteLine = line;
        else cell += char;
        state = 'quoted';
      } else {
        cell += char;
        state = 'plain';
      }
    }
  }
  if (state === 'quoted') {
    throw fileError(`${path} ends within a quoted cell that begins on line ${quoteLine}`, 'close the quote');
  }
  const row = endRow();
  if (row) yield row;
}
