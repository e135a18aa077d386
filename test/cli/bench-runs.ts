import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Replay } from '../load/replay.ts';
import { type Ended, type Running, servetune, start } from './command.ts';

/** A small load of random prompts; whatever a test gives besides goes before it. */
const small = ['--random-input-len', '20', '--random-output-len', '6', '--num-prompts', '6'] as const;

const line = (server: Pick<Replay, 'baseUrl'>, args: readonly string[]): string[] => {
  const given = new Set(args.map((arg) => arg.replace(/=.*/, '')));
  const usual = given.has('--dataset-name') ? small.slice(4) : small;
  const base =
    given.has('--base-url') || given.has('--host') ? [] : ['--base-url', server.baseUrl.href.replace(/\/$/, '')];
  return ['bench', 'serve', ...base, ...usual, ...args];
};

/** Runs `servetune bench serve` against a server to its end. */
export const bench = (
  server: Pick<Replay, 'baseUrl'>,
  args: readonly string[] = [],
  options?: Parameters<typeof start>[1],
): Promise<Ended> => servetune(line(server, args), options);

export const startBench = (
  server: Pick<Replay, 'baseUrl'>,
  args: readonly string[],
  options?: Parameters<typeof start>[1],
): Running => start(line(server, args), options);

/** Text behind a label of the result block. */
export const figure = (block: string, label: string): string | undefined =>
  new RegExp(`^${label.replace(/[()/]/g, '\\$&')}\\s+(\\S+)`, 'm').exec(block)?.[1];

/** Why a measurement was called invalid; a client that could not keep up is no fault on a machine that runs tests. */
export const invalid = (stderr: string): string[] =>
  stderr.split('\n').filter((text) => text.startsWith('invalid measurement') && !text.includes('client-bound'));

/** What is wrong with a run that should have gone well; nothing when it did. */
export const trouble = ({ code, stderr }: Ended): readonly string[] => {
  if (code === 0 || (code === 3 && stderr.includes('client-bound') && invalid(stderr).length === 0)) return [];
  return [`exit code ${code}`, stderr];
};

export const block = (stdout: string): string => stdout.slice(stdout.indexOf('============ Serving'));

/** The one JSON file in a folder, whose text must be strict JSON. */
export function savedIn(dir: string): { readonly name: string; readonly saved: Record<string, unknown> } {
  const names = readdirSync(dir).filter((name) => name.endsWith('.json'));
  if (names.length !== 1) throw new Error(`${names.length} results in ${dir}: ${names.join(', ')}`);
  const [name = ''] = names;
  return { name, saved: JSON.parse(readFileSync(join(dir, name), 'utf8')) as Record<string, unknown> };
}

/** The lines of a JSONL file, each of which must be whole. */
export const linesOf = (path: string): readonly Record<string, unknown>[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as Record<string, unknown>);
