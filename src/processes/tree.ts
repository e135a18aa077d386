import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/**
 * A process that cannot be mistaken for a later one under the same number. `startTime` is opaque: equal for the same
 * process, different for another, also after a restart of the machine.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
}

export interface ProcessEntry extends ProcessIdentity {
  readonly ppid: number;
  readonly pgid: number;
  /** Null where the system does not tell (macOS). */
  readonly sid: number | null;
  /** False of a zombie: it holds nothing any more but its number. */
  readonly running: boolean;
}

/** What the system knows of its processes. Entries are read when asked for, so a scan costs only what it looks at. */
export interface Snapshot {
  readonly pids: readonly number[];
  entry(pid: number): ProcessEntry | undefined;
}

/** Linux reads `/proc`; elsewhere, or without `/proc`, one `ps` is started. */
export function takeSnapshot(source: 'proc' | 'ps' = process.platform === 'linux' ? 'proc' : 'ps'): Snapshot {
  if (source === 'proc') {
    const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
    return { pids, entry: readProc };
  }
  const entries = parsePs(
    execFileSync('ps', ['-axo', 'pid=,ppid=,pgid=,stat=,lstart='], {
      encoding: 'utf8',
      // The start time is printed in local time and words: both must be the same for whoever compares.
      env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 * 1024 * 1024,
    }),
  );
  return { pids: [...entries.keys()], entry: (pid) => entries.get(pid) };
}

/** The process under this number now, or undefined. */
export const processEntry = (pid: number): ProcessEntry | undefined =>
  process.platform === 'linux' ? readProc(pid) : takeSnapshot().entry(pid);

/** True while exactly this process, not a later one under its number, is running. */
export function isRunning({ pid, startTime }: ProcessIdentity): boolean {
  const entry = processEntry(pid);
  return entry?.startTime === startTime && entry.running;
}

function readProc(pid: number): ProcessEntry | undefined {
  try {
    return parseStat(pid, readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined; // it ended between the listing and now
  }
}

/** One `/proc/PID/stat`. The second field is the program's name in parentheses and may itself hold `) `. */
export function parseStat(pid: number, stat: string): ProcessEntry {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  const threads = Number(fields[17]);
  return {
    pid,
    ppid: Number(fields[1]),
    pgid: Number(fields[2]),
    sid: Number(fields[3]),
    // A "zombie" with several threads is one whose first thread ended: the others, and the GPU memory, are still there.
    running: (state !== 'Z' && state !== 'X') || threads > 1,
    startTime: `${fields[19]}@${bootId()}`,
  };
}

let knownBootId: string | undefined;

/** Linux counts start times from boot, so they name a process only together with the boot. */
function bootId(): string {
  if (knownBootId === undefined) {
    try {
      knownBootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
    } catch {
      knownBootId = 'unknown';
    }
  }
  return knownBootId;
}

/** The lines of `ps -axo pid=,ppid=,pgid=,stat=,lstart=`. */
export function parsePs(output: string): ReadonlyMap<number, ProcessEntry> {
  const entries = new Map<number, ProcessEntry>();
  for (const line of output.split('\n')) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line);
    if (!match) continue;
    const [pid, ppid, pgid] = match.slice(1, 4).map(Number) as [number, number, number];
    const running = !(match[4] as string).startsWith('Z');
    entries.set(pid, { pid, ppid, pgid, sid: null, running, startTime: match[5] as string });
  }
  return entries;
}
