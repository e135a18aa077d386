import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleepMs } from 'node:timers/promises';
import { expect } from 'vitest';
import { watchdogPath } from '../../src/processes/watched.ts';

/** A tiny program of `test/fixtures/processes/`, as an argv. */
export const fixture = (name: string, ...args: string[]): string[] => [
  process.execPath,
  resolve(import.meta.dirname, '../fixtures/processes', name),
  ...args,
];

/** Asks the system, without any of the code that is under test. A zombie does not live. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') return true;
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    return false;
  }
}

export const living = (pids: readonly number[]): number[] => pids.filter(lives);

/** Asks again until it answers, and returns that. */
export async function eventually<T>(ask: () => T | undefined | null | false, withinS = 20): Promise<T> {
  const endsAt = performance.now() + withinS * 1000;
  for (;;) {
    const answer = ask();
    if (answer) return answer;
    if (performance.now() > endsAt) throw new Error(`not within ${withinS} s: ${ask}`);
    await sleepMs(20);
  }
}

/** The numbers that a fixture printed into its log. */
export const printedPids = (logPath: string, withinS?: number): Promise<number[]> =>
  eventually(() => {
    const match = /\{"pids":(\[[\d,]+\])\}/.exec(readFileSync(logPath, 'utf8'));
    return match && (JSON.parse(match[1] as string) as number[]);
  }, withinS);

export function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/** The watchdog runs as it was compiled: a stale one would prove nothing. */
export function expectFreshBuild(): void {
  const source = join(import.meta.dirname, '../../src/processes');
  for (const name of ['watchdog', 'family', 'ending', 'tree', 'messages']) {
    const built = statSync(join(watchdogPath, '..', `${name}.js`)).mtimeMs;
    expect(built, `dist/processes/${name}.js is stale; run: npm run build`).toBeGreaterThan(
      statSync(join(source, `${name}.ts`)).mtimeMs,
    );
  }
}
