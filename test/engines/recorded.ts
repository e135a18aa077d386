import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inVersions, type Mapping, type Way } from '../../src/engines/mapping.ts';
import { compareVersions } from '../../src/kit/versions.ts';

const folder = resolve(import.meta.dirname, '../fixtures/engines');

export const recordedText = (path: string): string => readFileSync(join(folder, path), 'utf8');

/** Lines of a recorded log, without the command and without the seconds before each. */
export const recordedLog = (path: string): string[] =>
  recordedText(path)
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/^ *\d+\.\d{3} /, ''));

export const recordedLogs = (engine: string, prefix: string): string[] =>
  readdirSync(join(folder, engine, 'logs')).filter((name) => name.startsWith(prefix));

/** Every flag in a help text or in a list of flags. */
export const flagsIn = (path: string): ReadonlySet<string> => new Set(recordedText(path).match(/--[a-z][\w-]*/g) ?? []);

const ways = (mapping: Mapping): readonly Way[] => Object.values(mapping).flat();

/** Flags of a way, those among the words that it says included. */
function flagsOf(way: Way): string[] {
  const said = way.say?.(1);
  const more = Array.isArray(said) ? said.map(String).filter((word) => word.startsWith('--')) : [];
  const own =
    'flag' in way ? [way.flag] : 'json' in way ? [way.json] : 'on' in way || 'off' in way ? [way.on, way.off] : [];
  return [...own, ...more].flatMap((flag) => (flag === undefined ? [] : [flag.split('=', 1)[0] as string]));
}

/** The flags that a version takes by a mapping. */
export const flagsValidIn = (mapping: Mapping, version: string): string[] => [
  ...new Set(
    ways(mapping)
      .filter((way) => inVersions(way, version))
      .flatMap(flagsOf),
  ),
];

/** The flags that a mapping says are gone in a version. */
export function flagsGoneIn(mapping: Mapping, version: string): string[] {
  const valid = flagsValidIn(mapping, version);
  const gone = ways(mapping).filter(({ before }) => before !== undefined && compareVersions(version, before) >= 0);
  return [...new Set(gone.flatMap(flagsOf))].filter((flag) => !valid.includes(flag));
}

/** The flags that a mapping says come later than a version. */
export function flagsLaterThan(mapping: Mapping, version: string): string[] {
  const valid = flagsValidIn(mapping, version);
  const later = ways(mapping).filter(({ since }) => since !== undefined && compareVersions(version, since) < 0);
  return [...new Set(later.flatMap(flagsOf))].filter((flag) => !valid.includes(flag));
}
