import { readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { now } from '../kit/clock.ts';
import { writeFileAtomic } from '../kit/files.ts';
import { endFamily } from './ending.ts';
import { trackFamily } from './family.ts';
import { noteName } from './leftover.ts';
import { type MarkedProcess, markedProcesses } from './mark.ts';
import { isRunning, type ProcessIdentity, processEntry } from './tree.ts';

/** `runs/NAME/trials/NNN`: a note is found from the folder of a trial up to the folder of all runs. */
const deepest = 3;

/** An engine, or what is left of one, that lives although nobody looks after it. */
export interface Leftover {
  /** Folder of the trial that it was started for. */
  readonly dir: string;
  /** Its first process, which may be gone. */
  readonly root: ProcessIdentity;
  /** In the environment of all that it started. */
  readonly mark?: string;
  /** Its recorded processes that live, all that descends from them, and whoever has its mark. Not empty. */
  readonly running: readonly ProcessIdentity[];
}

/** What became of a leftover. */
export interface Reaped extends Leftover {
  /** SIGTERM was not enough. */
  readonly forced: boolean;
  /** Those that outlived even SIGKILL. */
  readonly survivors: readonly number[];
}

/** A process by its number, for people. */
export interface NamedProcess {
  readonly pid: number;
  /** The first words of its command line (what follows may hold secrets); null where the system does not tell. */
  readonly command: string | null;
}

/**
 * Notes an engine in its trial's folder together with the processes that it has grown: one that moved to a session of
 * its own is found again when its parents are gone. Takes the place of what `rememberProcess` noted, and leaves that as
 * it is when the disk refuses.
 */
export function rememberFamily(dir: string, root: MarkedProcess, members: readonly ProcessIdentity[]): void {
  const { mark } = root;
  const note = { ...identityOf(root), mark, members: members.filter(({ pid }) => pid !== root.pid).map(identityOf) };
  try {
    writeFileAtomic(join(dir, noteName), `${JSON.stringify(note)}\n`);
  } catch {
    // The first process is noted already.
  }
}

const identityOf = ({ pid, startTime }: ProcessIdentity): ProcessIdentity => ({ pid, startTime });

/**
 * Engines that earlier runs noted and that still live. `folder` is that of one trial, of one run, or of several runs. A
 * process counts only if number and start time are those that were noted, whatever it is called, or if it was started
 * with the mark that was noted. Runs that a living process is at work on are passed over.
 */
export function findLeftovers(folder: string): readonly Leftover[] {
  const marked = markedProcesses();
  return foldersBelow(folder, deepest)
    .filter((dir) => !inUse(join(dir, '../..')))
    .flatMap((dir) => leftoverIn(dir, marked) ?? []);
}

/** What still lives of the engine that was noted in a trial's folder; undefined when nothing does. */
export function leftoverIn(dir: string, marked = markedProcesses()): Leftover | undefined {
  const note = readNote(dir);
  if (note === undefined) return undefined;
  const { root, mark } = note;
  const members = [...note.members, ...(mark === undefined ? [] : (marked.get(mark) ?? []))];
  const running = familiesOf({ ...note, members }).flatMap((family) => family.running.map(identityOf));
  const once = new Map(running.map((process) => [process.pid, process]));
  return once.size === 0
    ? undefined
    : { dir, root, ...(mark === undefined ? {} : { mark }), running: [...once.values()] };
}

/**
 * Ends leftovers: SIGTERM, after `graceS` seconds SIGKILL, to the recorded processes and to what descends from them.
 * Looks again before it signals, so a number that was given to somebody else meanwhile is let alone.
 */
export async function reap(leftovers: readonly Leftover[], graceS = 2): Promise<readonly Reaped[]> {
  return await Promise.all(
    leftovers.map(async (leftover) => {
      const families = familiesOf({ ...leftover, members: leftover.running });
      const graceEndsAt = now() + graceS;
      const endings = await Promise.all(families.map((family) => endFamily(family, () => graceEndsAt)));
      return {
        ...leftover,
        forced: endings.some(({ forced }) => forced),
        survivors: [...new Set(endings.flatMap(({ survivors }) => survivors))],
      };
    }),
  );
}

/** Names processes that hold something, such as a GPU's memory, and belong to no leftover: they are never ended. */
export function nameOthers(pids: readonly number[], leftovers: readonly Leftover[]): readonly NamedProcess[] {
  const ours = new Set(leftovers.flatMap(({ running }) => running.map(({ pid }) => pid)));
  return [...new Set(pids)].filter((pid) => !ours.has(pid)).map((pid) => ({ pid, command: commandOf(pid) }));
}

interface Noted {
  readonly root: ProcessIdentity;
  readonly mark?: string;
  readonly members: readonly ProcessIdentity[];
}

/** A family for the root, or, where it is gone, for each recorded member that lives. */
function familiesOf({ root, mark, members }: Noted): readonly ReturnType<typeof trackFamily>[] {
  const living = members.filter(isRunning);
  const hints = mark === undefined ? {} : { mark };
  // With its root gone, a session's number says nothing any more: only what was noted by itself counts then.
  if (isRunning(root)) return [trackFamily(root, { ...hints, known: living })];
  return living.map((member) => trackFamily(member, hints));
}

function readNote(dir: string): Noted | undefined {
  let note: { readonly mark?: unknown; readonly members?: unknown } | null;
  try {
    note = JSON.parse(readFileSync(join(dir, noteName), 'utf8')) as typeof note;
  } catch {
    return undefined; // nothing was started, or the note was never written
  }
  const { mark, members } = note ?? {};
  if (!isIdentity(note)) return undefined;
  return {
    root: identityOf(note),
    ...(typeof mark === 'string' && mark !== '' ? { mark } : {}),
    members: Array.isArray(members) ? members.filter(isIdentity) : [],
  };
}

/** Numbers below 2 would reach everybody. */
function isIdentity(value: unknown): value is ProcessIdentity {
  const { pid, startTime } = (value ?? {}) as Partial<ProcessIdentity>;
  return Number.isInteger(pid) && (pid as number) > 1 && typeof startTime === 'string' && startTime !== '';
}

/** The folder and those below it, as many levels down; links are not followed. */
function foldersBelow(folder: string, levels: number): readonly string[] {
  if (levels === 0) return [folder];
  let names: readonly string[];
  try {
    names = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
  } catch {
    return [];
  }
  return [folder, ...[...names].sort().flatMap((name) => foldersBelow(join(folder, name), levels - 1))];
}

/** Whether a living process holds the run's lock (`lock.ts`). */
function inUse(runDir: string): boolean {
  try {
    const owner = JSON.parse(readFileSync(join(runDir, 'lock.json'), 'utf8')) as Partial<ProcessIdentity> & {
      readonly machine?: string;
    };
    return owner.machine === hostname() && isIdentity(owner) && isRunning(owner);
  } catch {
    return false;
  }
}

function commandOf(pid: number): string | null {
  if (processEntry(pid) === undefined) return null;
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
    if (words.length === 0) return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    return words.length > 3 ? `${words.slice(0, 3).join(' ')} ...` : words.join(' ');
  } catch {
    return null; // gone, or another user's
  }
}
