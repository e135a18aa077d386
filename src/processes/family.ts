import { readlinkSync } from 'node:fs';
import { markedWith } from './mark.ts';
import { type ProcessEntry, type ProcessIdentity, type Snapshot, takeSnapshot } from './tree.ts';

/**
 * A process and all that descends from it, remembered while it grows: a member stays one when its parent ends and when
 * it moves to a group or session of its own, which is when the system forgets where it came from.
 */
export interface Family {
  readonly root: ProcessIdentity;
  /** Members that were running when `refresh` last looked. */
  readonly running: readonly ProcessEntry[];
  /** Looks again. True when members came or went. */
  refresh(): boolean;
  /** Looks again, also for members that only their mark tells of: those that left everything else between two looks. */
  refreshMarked(): void;
}

export interface FamilyHints {
  /** Members that somebody saw earlier. */
  readonly known?: readonly ProcessIdentity[];
  /** Whoever starts later and has this file as its output is a member, should nobody have seen its parents (Linux only). */
  readonly outputPath?: string;
  /** What every member has in its environment (`mark.ts`), and nobody else. */
  readonly mark?: string;
  readonly snapshot?: () => Snapshot;
}

/** `root` should lead its own session, as a process that was started detached does; else only parenthood counts. */
export function trackFamily(root: ProcessIdentity, hints: FamilyHints = {}): Family {
  const snapshot = hints.snapshot ?? (() => takeSnapshot());
  let remembered: readonly ProcessIdentity[] = [root, ...(hints.known ?? [])];
  let members = new Map<number, ProcessEntry>();
  /** A stranger cannot become a member, so each process is looked at once, and a scan is little more than a listing. */
  let strangers: Set<number> | undefined;
  /** Sessions, and the groups within them, are made by their members: as long as one is ours, all of it is ours. */
  let groups = new Set([root.pid]);
  let sessions = new Set([root.pid]);
  let leads = true;

  function refresh(): boolean {
    const now = snapshot();
    const found = new Map<number, ProcessEntry>();
    const admit = (entry: ProcessEntry): void => {
      found.set(entry.pid, entry);
      groups.add(entry.pgid);
      if (entry.sid !== null) sessions.add(entry.sid);
    };
    const alive = remembered.flatMap((known) => {
      const entry = now.entry(known.pid);
      return entry?.startTime === known.startTime ? entry : [];
    });
    const still = new Set(alive.map(({ pid }) => pid));
    // While somebody is in a group or session its number is given to nobody else. So if there is a process under that
    // number, and it is none of ours, then ours have all left, and the group or session is another one by now.
    const ours = (id: number): boolean => still.has(id) || now.entry(id) === undefined;
    groups = new Set([...groups].filter(ours));
    sessions = new Set([...sessions].filter(ours));
    for (const entry of alive) {
      if (entry.pid === root.pid) leads = entry.pgid === root.pid && (entry.sid ?? root.pid) === root.pid;
      admit(entry);
    }
    const belongs = ({ ppid, pgid, sid }: ProcessEntry): boolean =>
      found.has(ppid) || (leads && (groups.has(pgid) || (sid !== null && sessions.has(sid))));

    let unknown = now.pids
      .filter((pid) => !strangers?.has(pid) && !found.has(pid))
      .flatMap((pid) => now.entry(pid) ?? []);
    // A child may stand in the listing before its parent, so until nobody new is found.
    for (let before = -1; before !== found.size; ) {
      before = found.size;
      for (const entry of unknown) if (belongs(entry)) admit(entry);
      unknown = unknown.filter(({ pid }) => !found.has(pid));
    }
    if (strangers && hints.outputPath !== undefined) {
      for (const entry of unknown) if (writesTo(entry.pid, hints.outputPath)) admit(entry);
    }

    const changed = found.size !== members.size || [...found.keys()].some((pid) => !members.has(pid));
    members = found;
    const entries = [...found.values()];
    remembered = entries;
    strangers = new Set(now.pids.filter((pid) => !found.has(pid)));
    groups = new Set(entries.map(({ pgid }) => pgid));
    sessions = new Set(entries.flatMap(({ sid }) => sid ?? []));
    return changed;
  }

  function refreshMarked(): void {
    if (hints.mark !== undefined) remembered = [...remembered, ...markedWith(hints.mark)];
    refresh();
  }

  refresh();
  return {
    root,
    get running() {
      return [...members.values()].filter(({ running }) => running);
    },
    refresh,
    refreshMarked,
  };
}

/** Processes whose output goes to a file: what a watchdog had started before it could tell of it. */
export function writersTo(path: string): readonly ProcessIdentity[] {
  const now = takeSnapshot();
  return now.pids.filter((pid) => pid !== process.pid && writesTo(pid, path)).flatMap((pid) => now.entry(pid) ?? []);
}

function writesTo(pid: number, path: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/1`) === path || readlinkSync(`/proc/${pid}/fd/2`) === path;
  } catch {
    return false; // gone, another user's, or no /proc
  }
}
