import {
  appendFileSync,
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { exitCodes, InputError, messageOf, ServetuneError, systemCode } from '../../kit/errors.ts';
import { makeFolder, writeFileAtomic } from '../../kit/files.ts';
import type { BenchPlan } from './plan.ts';

/** What is saved: the keys of `vllm bench serve --save-result`, of which the usual file name takes these. */
export interface SavedResult {
  readonly model_id: string;
  /** `YYYYMMDD-HHMMSS`. */
  readonly date: string;
  readonly [key: string]: unknown;
}

/**
 * Where the result goes, or null where none is kept. The usual name is vLLM's, the same in all its versions:
 * `LABEL-RATEqps[-concurrencyN]-MODEL-DATE.json`, or `LABEL-ramp-up-STRATEGY-Aqps-Bqps...` while ramping up; numbers as
 * Python writes them, of the model what follows the last `/`.
 */
export function resultPath(plan: BenchPlan, result: Pick<SavedResult, 'model_id' | 'date'>): string | null {
  const { save, dir, filename } = plan.result;
  if (!save) return null;
  const name = filename ?? usualName(plan, result);
  return dir === undefined || isAbsolute(name) ? name : join(dir, name);
}

function usualName({ workload, result: { label } }: BenchPlan, { model_id, date }: SavedNames): string {
  const { ramp_up_strategy: strategy, ramp_up_start_rps: start, ramp_up_end_rps: end } = workload;
  const rate =
    strategy === undefined ? `${pythonFloat(workload.request_rate)}qps` : `ramp-up-${strategy}-${start}qps-${end}qps`;
  const limit = workload.max_concurrency === undefined ? '' : `-concurrency${workload.max_concurrency}`;
  return `${label || workload.backend}-${rate}${limit}-${fileName(model_id.split('/').at(-1) ?? '')}-${date}.json`;
}

/** A model's name as a file may have it: servers give names of any length, with any characters. */
const fileName = (name: string): string => name.replace(/[\p{Cc}\p{Cf}]/gu, '_').slice(0, 100);

type SavedNames = Pick<SavedResult, 'model_id' | 'date'>;

/** A number as Python's `float` is printed: `4.0`, `0.5`, `1e-05`, `inf`. */
export function pythonFloat(value: number | 'inf'): string {
  if (value === 'inf' || value === Number.POSITIVE_INFINITY) return 'inf';
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-4 && size < 1e16)) return Number.isInteger(value) ? `${value}.0` : String(value);
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/**
 * Sees to it before the load that the result can be kept: makes the folder, and refuses a name that is a folder. Throws an
 * InputError with the remedy; an hour of load must not end at a wrong path.
 */
export function prepareResult(plan: BenchPlan): void {
  const { save, dir, filename } = plan.result;
  if (!save) return;
  const place = dir === undefined ? '--result-filename' : '--result-dir';
  const path = filename === undefined ? join(dir ?? '.', 'name') : (resultPath(plan, { model_id: '', date: '' }) ?? '');
  try {
    makeFolder(dirname(path));
  } catch (error) {
    const message = `${dirname(path)} cannot be made: ${reasonOf(error)}`;
    throw new InputError([{ place, message, hint: 'name a folder that can be written to' }]);
  }
  if (filename === undefined) return;
  if (statOf(path)?.isDirectory()) {
    throw new InputError([{ place: '--result-filename', message: `${path} is a folder`, hint: 'name a file in it' }]);
  }
}

/**
 * Saves the result of a load, and says where; null where none is kept. A new file replaces an old one whole; with
 * `--append-result` the object goes behind those that are there, on a line of its own. Throws a ServetuneError when the
 * disk is full or the path cannot be written to; then the file is as it was before.
 */
export function writeResult(plan: BenchPlan, result: SavedResult): string | null {
  const path = resultPath(plan, result);
  if (path === null) return null;
  const text = JSON.stringify(result);
  save(path, plan.result.append ? () => append(path, text) : () => replace(path, text));
  return path;
}

/** Saves the summary in servetune's own layout, as `writeResult` does the result; nothing where none is wanted. */
export function writeSummary({ result: { summaryPath } }: BenchPlan, summary: unknown): void {
  if (summaryPath === undefined) return;
  save(summaryPath, () => replace(summaryPath, `${JSON.stringify(summary, null, 2)}\n`));
}

/**
 * Where the records of every request lie beside a saved result, unless `--records` says where; undefined where there is
 * no such place. A file of many results has the records of each.
 */
export function recordsPath(plan: BenchPlan, modelId: string): string | undefined {
  if (plan.result.recordsPath !== undefined) return plan.result.recordsPath;
  const path = resultPath(plan, { model_id: modelId, date: plan.date });
  if (path === null || statOf(path)?.isFile() === false) return undefined;
  return `${path.replace(/\.json$/, '')}${plan.result.append ? `-${plan.date}` : ''}.records.jsonl`;
}

function save(path: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new ServetuneError('result_not_saved', `the result could not be saved to ${path}: ${reasonOf(error)}`, {
      hint: 'the file is as it was before; `servetune summarize` computes it again from the records, where they were kept',
      exitCode: exitCodes.badInput,
      cause: error,
    });
  }
}

function replace(path: string, text: string): void {
  const there = statOf(path);
  if (there?.isDirectory()) throw new Error('it is a folder');
  // A device or a pipe is written to; renaming a file over it would take its place.
  if (there && !there.isFile()) writeFileSync(path, `${text}\n`);
  // What a link points to is replaced, not the link.
  else writeFileAtomic(there ? realpathSync(path) : path, text);
}

function append(path: string, text: string): void {
  makeFolder(dirname(path));
  const file = openSync(path, 'a');
  try {
    const before = statSync(path);
    try {
      appendFileSync(file, `${before.size > 0 ? '\n' : ''}${text}`);
      if (before.isFile()) fsyncSync(file);
    } catch (error) {
      if (before.isFile()) ftruncateSync(file, before.size);
      throw error;
    }
  } finally {
    closeSync(file);
  }
}

const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'files may not be that large here (ulimit -f)',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'the disk is read-only',
  ENOTDIR: 'a part of the path is no folder',
  EEXIST: 'a part of the path is no folder',
  ENAMETOOLONG: 'the name is too long',
};

const reasonOf = (error: unknown): string => reasons[systemCode(error) ?? ''] ?? messageOf(error);
