import { fileError } from './dataset-file.ts';
import { textLines } from './lines.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A line of a JSONL file: an object, or else what it holds (`invalid JSON`). */
export interface JsonLine {
  readonly number: number;
  readonly row: JsonObject | null;
  readonly holds: string;
}

/** So many lines without one object in front, and the file is something else. */
const patience = 10;

/**
 * The rows of a file with one JSON object a line; blank lines are none. Throws an InputError, with the number of the
 * first line that is none and what to do, when no line of the first ten is an object, or it begins as a JSON array.
 */
export async function* jsonLines(path: string, signal: AbortSignal): AsyncGenerator<JsonLine> {
  let first: JsonLine | undefined;
  let firstText = '';
  let bad = 0;
  let good = 0;
  for await (const { number, text } of textLines(path, signal)) {
    if (text.trim() === '') continue;
    const line = { number, ...parsed(text) };
    if (line.row) good++;
    else if (good === 0) {
      first ??= line;
      firstText ||= text;
      // Only the last object of an array over several lines would be taken for a row.
      if (++bad === patience || firstText.trimStart().startsWith('[')) break;
    }
    yield line;
  }
  if (good > 0) return;
  if (!first) throw fileError(`${path} holds only blank lines`, 'give a file with one JSON object a line');
  throw fileError(`${path} is not JSONL: line ${first.number} holds ${first.holds}`, remedy(firstText, path));
}

function parsed(text: string): Omit<JsonLine, 'number'> {
  try {
    const value: unknown = JSON.parse(text);
    return { row: isObject(value) ? value : null, holds: 'JSON that is no object' };
  } catch {
    return { row: null, holds: 'invalid JSON' };
  }
}

function remedy(text: string, path: string): string {
  const shape = 'give a file with one JSON object a line';
  const lines = path.replace(/\.[^./]*$/, '.jsonl');
  if (text.startsWith('PAR1')) return parquetRemedy(path);
  if (text.trimStart().startsWith('[')) return `${shape}; jq -c '.[]' ${path} > ${lines} makes one of a JSON array`;
  if (text.trimStart().startsWith('{')) return `${shape}; jq -c . ${path} > ${lines} writes each object on one line`;
  return shape;
}

/** How to make a file that can be read of a Parquet file. */
export const parquetRemedy = (path: string): string =>
  `convert it: python3 -c "import pandas; pandas.read_parquet('${path}').to_json('${path.replace(/\.parquet$/, '')}.jsonl', ` +
  `orient='records', lines=True)"`;
