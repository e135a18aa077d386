import { InputError } from '../../kit/errors.ts';
import type { WorkloadOptions } from '../../records/workload.ts';
import { datasetFile, fileError } from './dataset-file.ts';
import { type JsonObject, jsonLines } from './json-lines.ts';
import { leftOut } from './left-out.ts';

/** One request of a trace. */
export interface TraceRow {
  readonly line: number;
  /** On the clock of the trace, seconds. */
  readonly timeS: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Blocks of the prompt from its beginning. */
  readonly hashIds: readonly string[];
}

/** The keys of a row, each with the flag that names it. */
function keysOf(options: WorkloadOptions) {
  return [
    { flag: '--timed-trace-label-timestamp', key: options.timed_trace_label_timestamp },
    { flag: '--timed-trace-label-input-length', key: options.timed_trace_label_input_length },
    { flag: '--timed-trace-label-output-length', key: options.timed_trace_label_output_length },
  ] as const;
}

/**
 * The first `count` usable rows of the file, by ascending time. Throws an InputError when there is none, one for each
 * key that no row has.
 */
export async function readTrace(
  options: WorkloadOptions,
  count: number,
  signal: AbortSignal,
): Promise<{ rows: readonly TraceRow[]; notes: readonly string[] }> {
  const path = await datasetFile(options, 'one request of the trace as a JSON object a line');
  const left = leftOut('line');
  const rows: TraceRow[] = [];
  let first: JsonObject | undefined;
  let sorted = true;
  for await (const { number, row, holds } of jsonLines(path, signal)) {
    if (row) first ??= row;
    const read = row ? rowOf(row, number, options) : `with ${holds}`;
    if (typeof read === 'string') {
      left.add(read, number);
      continue;
    }
    if (read.timeS < (rows.at(-1)?.timeS ?? read.timeS)) sorted = false;
    rows.push(read);
    if (rows.length === count) break;
  }

  const why = left.note(rows.length + left.count());
  if (rows.length === 0) {
    const missing = keysOf(options).filter(({ key }) => first?.[key] === undefined);
    if (first && missing.length > 0) throw missingKeys(missing, path, Object.keys(first));
    throw fileError(`${path} has no row that can be used. ${why}`, 'give rows with a time and lengths of at least 1');
  }
  const notes = why === null ? [] : [why];
  if (!sorted) {
    rows.sort((a, b) => a.timeS - b.timeS);
    notes.push('Rows of the trace are not in the order of their times; they were sorted.');
  }
  if (rows.every(({ hashIds }) => hashIds.length === 0)) {
    notes.push(`Rows have no ${options.timed_trace_label_hash_ids}, so prompts begin with nothing in common.`);
  }
  return { rows, notes };
}

const missingKeys = (
  missing: readonly { readonly flag: string; readonly key: string }[],
  path: string,
  has: readonly string[],
): InputError =>
  new InputError(
    missing.map(({ flag, key }) => ({
      place: flag,
      message: `rows of ${path} have no "${key}"`,
      hint: `name one of the keys that they have: ${has.join(', ')}`,
    })),
  );

/** A row, or why it cannot be used. */
function rowOf(row: JsonObject, line: number, options: WorkloadOptions): TraceRow | string {
  const [time, input, output] = keysOf(options).map(({ key }) => numberIn(row[key]));
  const hashIds = row[options.timed_trace_label_hash_ids] ?? [];
  if (time === undefined || Number.isNaN(time)) return 'without a time';
  if (input === undefined || !(input >= 1)) return 'without a prompt length of at least 1';
  if (output === undefined || !(output >= 1)) return 'without an output length of at least 1';
  if (!Array.isArray(hashIds) || !hashIds.every((id) => typeof id === 'number' || typeof id === 'string')) {
    return 'with hash ids that are no list of numbers';
  }
  return {
    line,
    timeS: time * options.timed_trace_sec_multiplier,
    inputTokens: Math.floor(input),
    outputTokens: Math.floor(output),
    hashIds: hashIds.map(String),
  };
}

/** A finite number, also one that is written as a text; NaN for anything else. */
function numberIn(value: unknown): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : Number.NaN;
}
