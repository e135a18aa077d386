import { open } from 'node:fs/promises';
import { createRandom, type Random } from '../../kit/random.ts';
import type { WorkloadOptions } from '../../records/workload.ts';
import { numpyShuffle } from '../making/numpy-draws.ts';
import { csvRows } from './csv.ts';
import { fileError } from './dataset-file.ts';
import { jsonArray } from './json-array.ts';
import { isObject, type JsonObject, jsonLines, parquetRemedy } from './json-lines.ts';
import type { LeftOut } from './left-out.ts';

export interface NumberedRow {
  /** Line of the file, or element of its array; counted from 1. */
  readonly number: number;
  readonly row: JsonObject;
}

type Format = 'array' | 'jsonl' | 'csv' | 'tsv';

/** Formats that are known by how they begin, and cannot be read. */
const binaries: readonly (readonly [begins: string, name: string, remedy: (path: string) => string])[] = [
  ['PAR1', 'a Parquet file', parquetRemedy],
  ['ARROW1', 'an Arrow file', () => 'save it as JSONL: datasets.Dataset.from_file(…).to_json(…)'],
  ['\x1f\x8b', 'compressed', (path) => `unpack it: gunzip ${path}`],
  ['PK\x03\x04', 'a ZIP archive', (path) => `unpack it: unzip ${path}`],
  ['\x28\xb5\x2f\xfd', 'compressed', (path) => `unpack it: zstd -d ${path}`],
];

/** What the file holds, by its first bytes. Throws an InputError for what cannot be read, with the way out. */
export async function formatOf(path: string): Promise<Format> {
  const file = await open(path);
  let head: Buffer;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(65_536), 0, 65_536, 0);
    head = buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
  const begins = head.toString('latin1');
  for (const [magic, name, remedy] of binaries) {
    if (begins.startsWith(magic)) throw fileError(`${path} is ${name}`, remedy(path));
  }
  const accepted = 'give a JSON array, JSONL or CSV';
  if (begins.includes('\0')) throw fileError(`${path} is no UTF-8 text`, accepted);
  const text = new TextDecoder().decode(head).trimStart();
  if (text === '') throw fileError(`${path} begins with blank lines only`, accepted);
  if (text.startsWith('[')) return 'array';
  if (text.startsWith('{')) return 'jsonl';
  const header = text.split(/\r|\n/, 1)[0] as string;
  if (path.endsWith('.tsv') || (header.includes('\t') && !header.includes(','))) return 'tsv';
  if (path.endsWith('.csv') || header.includes(',')) return 'csv';
  throw fileError(`${path} holds neither JSON nor CSV`, accepted);
}

/** The rows of a file in its order; what is no row is counted as left out. */
export async function* fileRows(
  path: string,
  format: Format,
  left: LeftOut,
  signal: AbortSignal,
): AsyncGenerator<NumberedRow> {
  if (format === 'array') {
    let number = 0;
    for await (const row of jsonArray(path, '--dataset-path', signal)) {
      number++;
      if (isObject(row)) yield { number, row };
      else left.add('that is no object', number);
    }
  } else if (format === 'jsonl') {
    for await (const { number, row, holds } of jsonLines(path, signal)) {
      if (row) yield { number, row };
      else left.add(`with ${holds}`, number);
    }
  } else {
    let header: readonly string[] | undefined;
    for await (const { line: number, cells } of csvRows(path, signal, format === 'tsv' ? '\t' : ',')) {
      if (!header) header = cells;
      else if (cells.length > header.length) left.add('with more cells than the header', number);
      else yield { number, row: Object.fromEntries(header.map((name, i) => [name.trim(), cells[i] ?? null])) };
    }
  }
}

/** Rows that wait in the buffer out of which the next one is drawn. */
const bufferRows = 1000;

/**
 * Rows in the order in which the `datasets` library (up to 4.x) gives them after `shuffle(seed)`: drawn from a buffer of
 * 1000 rows while the file is read, or with `no_stream` from the whole file. Its later releases shuffle files of over
 * 1000 rows in another way, which depends on how the file was cut.
 */
export async function* shuffledRows(
  rows: AsyncIterable<NumberedRow>,
  { disable_shuffle, no_stream, seed }: Pick<WorkloadOptions, 'disable_shuffle' | 'no_stream' | 'seed'>,
): AsyncGenerator<NumberedRow> {
  if (disable_shuffle) {
    yield* rows;
    return;
  }
  const random = createRandom(seed);
  const drawn = bufferPlaces(random);
  const buffer: NumberedRow[] = [];
  for await (const row of rows) {
    if (no_stream || buffer.length < bufferRows) {
      buffer.push(row);
      continue;
    }
    const place = drawn.next().value;
    yield buffer[place] as NumberedRow;
    buffer[place] = row;
  }
  numpyShuffle(random, buffer);
  yield* buffer;
}

/** Places in the buffer. The library draws a thousand at a time, which shows in what the last shuffle draws. */
function* bufferPlaces(random: Random): Generator<number, never> {
  for (;;) yield* random.integers(0, bufferRows, 1000);
}
