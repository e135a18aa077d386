import { open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError, messageOf, type Problem, systemCode } from '../kit/errors.ts';
import { type DetailedFacts, fromVllmDetailed } from '../metrics/vllm/detailed.ts';
import type { VllmOutput } from '../metrics/vllm/output.ts';
import type { RequestRecord } from '../records/request.ts';
import { readRequestLine } from '../records/request-line.ts';

/** What an earlier run left of its requests. */
export interface KeptRecords {
  readonly path: string;
  readonly records: readonly RequestRecord[];
  /** Where they come from `vllm bench serve`: the same in its own terms, and what else its file says. */
  readonly vllm?: { readonly outputs: readonly VllmOutput[]; readonly facts: DetailedFacts };
  /** Sentences that must stand beside every figure. */
  readonly notes: readonly string[];
  /** No engine answered them: a simulation wrote them. */
  readonly simulated?: true;
}

/** Problems of lines that are shown; a file of something else has thousands. */
const mostProblems = 20;

/**
 * Reads request records: servetune's JSONL (a file, or the folder of a trial), or the JSON that `vllm bench serve
 * --save-result --save-detailed` wrote. A last line that a crash cut off is left out, with a note. Throws an InputError
 * with every line that is wrong.
 */
export async function readRecords(given: string): Promise<KeptRecords> {
  const fail = (message: string): InputError =>
    new InputError([
      {
        place: given,
        message,
        hint: 'give records of servetune (JSONL, the folder of a trial), or the JSON of vllm bench serve --save-detailed',
      },
    ]);
  let path = given;
  try {
    if ((await stat(path)).isDirectory()) path = join(path, 'records.jsonl');
    const beginning = await firstBytes(path);
    if (beginning.trim() === '') throw fail('holds no record');
    if (isWhole(beginning)) return readVllm(path, await readFile(path, 'utf8'));
    return await readLines(path);
  } catch (error) {
    if (error instanceof InputError) throw error;
    if (systemCode(error) === undefined) throw error;
    throw fail(systemCode(error) === 'ENOENT' ? `${path} does not exist` : messageOf(error));
  }
}

async function firstBytes(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Begins with something other than a record on its line: one JSON document. */
const isWhole = (beginning: string): boolean => !/^\s*\{\s*"index"\s*:/.test(beginning);

function readVllm(path: string, text: string): KeptRecords {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new InputError([
      {
        place: path,
        message: 'is neither lines of request records nor one JSON document',
        hint: 'a file of several appended results has to be split first',
      },
    ]);
  }
  if (typeof json === 'object' && json !== null && 'servetune' in json) {
    throw new InputError([
      {
        place: path,
        message: 'is a result of servetune, which holds less than the records that it came from',
        hint: `give those: the file of --records, else ${path.replace(/\.json$/, '')}.records.jsonl`,
      },
    ]);
  }
  const { records, outputs, facts } = fromVllmDetailed(json, path);
  return { path, records, vllm: { outputs, facts }, notes: facts.notes };
}

async function readLines(path: string): Promise<KeptRecords> {
  const records: RequestRecord[] = [];
  const problems: Problem[] = [];
  const notes: string[] = [];
  let number = 0;
  let last: { readonly number: number; readonly text: string; readonly wrong: string } | undefined;
  const file = await open(path);
  try {
    for await (const line of file.readLines()) {
      number++;
      if (last) problems.push({ place: `${path}:${last.number}`, message: last.wrong });
      last = undefined;
      if (line.trim() === '') continue;
      const read = readRequestLine(line);
      if (typeof read === 'string') last = { number, text: line, wrong: read };
      else records.push(read);
    }
  } finally {
    await file.close();
  }
  if (last?.wrong === 'is not JSON' && records.length > 0) {
    notes.push(`Line ${last.number} of ${path} is cut off, as after a crash, and was left out.`);
  } else if (last) problems.push({ place: `${path}:${last.number}`, message: last.wrong });
  if (problems.length > 0) throw new InputError(problems.slice(0, mostProblems));
  const simulated = records.some((record) => 'simulated' in record && record.simulated === true);
  if (simulated) notes.push(`The records of ${path} are simulated: no engine ran.`);
  return { path, records, notes, ...(simulated ? { simulated } : {}) };
}
