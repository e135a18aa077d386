import { isAbsolute, join } from 'node:path';
import pc from 'picocolors';
import { z } from 'zod';
import { importFile } from '../importers/import-file.ts';
import { importers } from '../importers/table.ts';
import { exitCodes, InputError, type Problem } from '../kit/errors.ts';
import type { JudgedImport } from '../records/imported.ts';
import { isRun, openImports } from '../store/store.ts';
import { judged } from '../study/import.ts';
import { defineCommand } from './command.ts';
import { importRemarks, importTable } from './import-lines.ts';
import { runDirOf } from './run-dir.ts';
import { explain } from './terminal.ts';
import { version } from './version.ts';

export default defineCommand({
  name: 'import',
  about:
    'Figures are kept as told; nothing is computed, and what was not told stays unknown. Each result is judged by the rules\n' +
    'that our own measurements must pass: one that breaks them is imported too, and marked invalid.',
  positional: { key: 'files', label: 'FILE...', optional: false },
  options: z.strictObject({
    files: z.array(z.string().min(1)).min(1).describe('Files with results'),
    run: z
      .string()
      .min(1)
      .default('imported')
      .describe('Folder of the run that they go to, or its name under ./runs; made where there is none'),
    format: z
      .enum(['auto', ...importers.map((importer) => importer.name)])
      .default('auto')
      .describe(importers.map(({ name, description }) => `${name}: ${description}`).join('; ')),
    strict: z
      .boolean()
      .default(false)
      .describe('End with 3 when a result is invalid, with 2 when a file is unreadable'),
    json: z.boolean().default(false).describe('Print the results as JSON'),
  }),
  examples: [
    ['servetune import results/*.json', 'result files of vllm bench serve, into ./runs/imported'],
    ['servetune import study.md --run published', 'every result block of a document, into ./runs/published'],
    ['servetune import nightly.log --strict', 'for scripts: exit code 3 when a result cannot be right'],
  ],

  async run({ files, run, format, strict, json }, terminal) {
    const results: JudgedImport[] = [];
    const unread: Problem[] = [];
    for (const path of new Set(files)) {
      terminal.signal.throwIfAborted();
      try {
        results.push(...importFile(path, format).map(judged));
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        unread.push(...error.problems);
      }
    }
    if (results.length === 0) throw new InputError(unread);
    for (const line of unread.length > 0 ? explain(new InputError(unread)) : []) terminal.note(line);

    const dir = importDirOf(run);
    using store = openImports(dir, { servetuneVersion: version, beganAt: new Date().toISOString() });
    const added = store.addImports(results);
    const invalid = results.filter(({ problems }) => problems.length > 0).length;
    if (json) {
      const told = results.map((result, i) => ({ ...result, valid: result.problems.length === 0, added: added[i] }));
      terminal.print(JSON.stringify({ run: dir, results: told, unread }, null, 2));
    } else {
      for (const line of importTable(results)) terminal.print(line);
      const remarks = importRemarks(results);
      if (remarks.length > 0) terminal.print('');
      for (const line of remarks) terminal.print(line);
      terminal.print('');
      terminal.print(outcome(dir, added, invalid));
    }
    if (strict && unread.length > 0) return exitCodes.badInput;
    return strict && invalid > 0 ? exitCodes.invalidMeasurement : exitCodes.done;
  },
});

/** A folder by its path; a bare name stands for the run of that name under ./runs, also before there is one. */
function importDirOf(named: string): string {
  const known = runDirOf(named);
  return isRun(known) || isAbsolute(named) || /[\\/]|^\.{1,2}$/.test(named) ? known : join('runs', named);
}

function outcome(dir: string, added: readonly boolean[], invalid: number): string {
  const fresh = added.filter(Boolean).length;
  const known = added.length - fresh;
  return [
    `${fresh} ${fresh === 1 ? 'result' : 'results'} imported into ${dir}`,
    ...(known > 0 ? [`${known} ${known === 1 ? 'was' : 'were'} there already (same file, same line)`] : []),
    ...(invalid > 0 ? [pc.red(`${invalid} of ${added.length} invalid`)] : []),
  ].join('; ');
}
