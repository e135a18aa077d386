import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

/** Folder -> level. A file imports from its own folder or from a folder of a lower level: never sideways, never up. */
const levels: Record<string, number> = {
  kit: 0,
  records: 1, i18n: 1, processes: 1, serving: 1,
  tokenizers: 2, endpoints: 2, metrics: 2, store: 2, hosts: 2, telemetry: 2, importers: 2, weights: 2, hardware: 2,
  datasets: 3, engines: 3, load: 3, search: 3, simulator: 3,
  report: 4, study: 4,
  cli: 5,
}; // biome-ignore format: one line a level

const src = resolve(import.meta.dirname, '../src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.ts'));
const folderOf = (path: string): string => path.split(/[\\/]/)[0] as string;

it('knows every folder', () => {
  const folders = new Set(files.filter((f) => f.includes('/')).map(folderOf));
  expect([...folders].filter((f) => !(f in levels))).toEqual([]);
});

it.each(files.filter((f) => f.includes('/')))('%s imports only downwards', (file) => {
  const from = folderOf(file);
  const text = readFileSync(join(src, file), 'utf8');
  const wrong = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
    .map(([, to]) => relative(src, resolve(src, dirname(file), to as string)))
    .filter((to) => folderOf(to) !== from && (levels[folderOf(to)] ?? 99) >= (levels[from] as number));
  expect(wrong).toEqual([]);
});

it.each([
  ['node:child_process', ['processes/']],
  ['libsql', ['store/']],
  ['process.exit', ['cli/', 'processes/', 'engines/embedded/', 'serving/paced/']],
  ['process.argv', ['cli/', 'processes/', 'engines/embedded/', 'serving/paced/', 'kit/invocation.ts']],
  ['console.', []],
])('%s stands only where it belongs', (needle, allowed) => {
  const offenders = files.filter(
    (f) => !allowed.some((folder) => f.startsWith(folder)) && readFileSync(join(src, f), 'utf8').includes(needle),
  );
  expect(offenders).toEqual([]);
});
