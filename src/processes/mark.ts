import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { type ProcessIdentity, processEntry } from './tree.ts';

/**
 * The variable by which all that one engine has started is known, also what left its parents, its session and its
 * outputs between two looks: a program hands its environment on to its children unless it is told otherwise.
 */
const variable = 'SERVETUNE_TRIAL';

/** A process, and the mark of all that it starts. */
export interface MarkedProcess extends ProcessIdentity {
  readonly mark?: string;
}

/** A mark that nothing else has, on any machine. */
export const newMark = (): string => randomUUID();

export const withMark = (env: Readonly<Record<string, string>>, mark: string): Readonly<Record<string, string>> => ({
  ...env,
  [variable]: mark,
});

/**
 * The processes of this machine that run and whose environment may be read (those of this user), by the mark that they
 * were started with. Reads the environment of each, so it is for the end of an engine and for what is left of one, not for
 * every look. Linux only; elsewhere there are none.
 */
export function markedProcesses(): ReadonlyMap<string, readonly ProcessIdentity[]> {
  const found = new Map<string, ProcessIdentity[]>();
  if (process.platform !== 'linux') return found;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const mark = markOf(pid);
    const entry = mark === undefined ? undefined : processEntry(pid);
    if (mark === undefined || !entry?.running) continue;
    const others = found.get(mark);
    const identity = { pid, startTime: entry.startTime };
    if (others) others.push(identity);
    else found.set(mark, [identity]);
  }
  return found;
}

/** Living processes with one mark. */
export const markedWith = (mark: string): readonly ProcessIdentity[] => markedProcesses().get(mark) ?? [];

function markOf(pid: number): string | undefined {
  try {
    const start = `${variable}=`;
    const entry = readFileSync(`/proc/${pid}/environ`, 'latin1')
      .split('\0')
      .find((text) => text.startsWith(start));
    return entry?.slice(start.length);
  } catch {
    return undefined; // gone, or another user's
  }
}
