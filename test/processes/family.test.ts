import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { now } from '../../src/kit/clock.ts';
import { endFamily } from '../../src/processes/ending.ts';
import { trackFamily } from '../../src/processes/family.ts';
import {
  isRunning,
  type ProcessEntry,
  parsePs,
  parseStat,
  processEntry,
  takeSnapshot,
} from '../../src/processes/tree.ts';
import { fixture, living } from './living.ts';

const process1: ProcessEntry = { pid: 100, ppid: 1, pgid: 100, sid: 100, running: true, startTime: '100' };
const entry = (pid: number, more: Partial<ProcessEntry> = {}): ProcessEntry => ({
  ...process1,
  pid,
  startTime: String(pid),
  ...more,
});

/** A table of processes that the test changes between two looks. */
function familyOf(...initial: ProcessEntry[]) {
  let table = initial;
  const snapshot = () => ({
    pids: table.map(({ pid }) => pid),
    entry: (pid: number) => table.find((e) => e.pid === pid),
  });
  const family = trackFamily(process1, { snapshot });
  return {
    pids: () => family.running.map(({ pid }) => pid).sort((a, b) => a - b),
    becomes(...entries: ProcessEntry[]) {
      table = entries;
      return family.refresh();
    },
  };
}

const stranger = entry(50, { ppid: 1, pgid: 50, sid: 50 });

describe('a family', () => {
  it('is the root, its group, and all that descends from it, listed in any order', () => {
    const elsewhere = { pgid: 103, sid: 103 };
    const table = [
      process1,
      stranger,
      entry(101, { ppid: 1 }),
      entry(103, { ppid: 101, ...elsewhere }),
      entry(104, { ppid: 103, pgid: 104, sid: 104 }),
    ];
    expect(familyOf(...table).pids()).toEqual([100, 101, 103, 104]);
    expect(familyOf(...table.reverse()).pids()).toEqual([100, 101, 103, 104]);
  });

  it('keeps a member whose parent ended and who leads a session of its own, and finds what that one forks', () => {
    const family = familyOf(process1, entry(101, { ppid: 100, pgid: 101, sid: 101 }), stranger);
    const orphan = entry(101, { ppid: 1, pgid: 101, sid: 101 });
    expect(family.becomes(orphan, stranger)).toBe(true);
    expect(family.pids()).toEqual([101]);
    // Neither its parent nor its group, only its session is known.
    family.becomes(orphan, entry(105, { ppid: 1, pgid: 105, sid: 101 }), stranger);
    expect(family.pids()).toEqual([101, 105]);
    expect(family.becomes(orphan, entry(105, { ppid: 1, pgid: 105, sid: 101 }), stranger)).toBe(false);
  });

  it('lets go of a number that was given to somebody else', () => {
    const family = familyOf(process1, entry(101, { ppid: 100, pgid: 101, sid: 101 }));
    family.becomes(process1, entry(101, { ppid: 1, pgid: 101, sid: 101, startTime: 'later' }));
    expect(family.pids()).toEqual([100]);
  });

  it('does not take the group of a stranger who was given the number of the root', () => {
    const family = familyOf(process1);
    family.becomes(entry(100, { startTime: 'later' }), entry(101, { ppid: 100 }));
    expect(family.pids()).toEqual([]);
  });

  it('counts only parenthood when the root does not lead its session', () => {
    const member = { ...process1, pgid: 7, sid: 7 };
    const family = familyOf(
      member,
      entry(101, { ppid: 100, pgid: 7, sid: 7 }),
      entry(102, { ppid: 9, pgid: 7, sid: 7 }),
    );
    expect(family.pids()).toEqual([100, 101]);
  });

  it('has no zombies among the running', () => {
    expect(familyOf({ ...process1, running: false }, entry(101, { ppid: 1 })).pids()).toEqual([101]);
  });
});

describe('ending a family', () => {
  it.each(process.platform === 'linux' ? (['proc', 'ps'] as const) : (['ps'] as const))(
    'works with %s',
    async (source) => {
      const [program = '', ...args] = fixture('forking.mjs');
      const child = spawn(program, args, { detached: true, env: {}, stdio: ['ignore', 'pipe', 'ignore'] });
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      const { pids } = JSON.parse(line.toString()) as { pids: number[] };
      const snapshot = () => takeSnapshot(source);
      const startTime = snapshot().entry(pids[0] as number)?.startTime ?? '';
      const family = trackFamily({ pid: pids[0] as number, startTime }, { snapshot });
      expect(family.running.map(({ pid }) => pid).sort()).toEqual(pids.toSorted());
      const graceEndsAt = now() + 0.2;
      expect(await endFamily(family, () => graceEndsAt)).toMatchObject({ forced: true, survivors: [] });
      expect(living(pids)).toEqual([]);
    },
  );
});

describe('the table of processes', () => {
  const stat = (name: string, state = 'S', threads = 1) =>
    `42 (${name}) ${state} 7 8 9 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 ${threads} 0 987654 1 2 3`;

  it('is read whatever a program calls itself', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 15 }), (name) => {
        const read = parseStat(42, stat(name));
        expect(read).toMatchObject({ pid: 42, ppid: 7, pgid: 8, sid: 9, running: true });
        expect(read.startTime).toMatch(/^987654@/);
      }),
    );
    expect(parseStat(42, stat('a) Z 1 2 3'))).toMatchObject({ ppid: 7, running: true });
  });

  it('knows a zombie from a program whose other threads still hold the GPU', () => {
    expect(parseStat(42, stat('engine', 'Z')).running).toBe(false);
    expect(parseStat(42, stat('engine', 'Z', 12)).running).toBe(true);
  });

  it('is read from ps as macOS prints it', () => {
    const table = parsePs(
      '    1     0     1 Ss   Mon Nov 30 07:20:30 2026    \n  812   1   812 Z+   Tue Dec  1 00:00:01 2026\n\n',
    );
    expect(table.get(1)).toEqual({
      pid: 1,
      ppid: 0,
      pgid: 1,
      sid: null,
      running: true,
      startTime: 'Mon Nov 30 07:20:30 2026',
    });
    expect(table.get(812)?.running).toBe(false);
  });

  it('shows this process, from either source', () => {
    for (const source of process.platform === 'linux' ? (['proc', 'ps'] as const) : (['ps'] as const)) {
      const snapshot = takeSnapshot(source);
      expect(snapshot.pids).toContain(process.pid);
      expect(snapshot.entry(process.pid)).toMatchObject({ pid: process.pid, ppid: process.ppid, running: true });
    }
  });

  it('tells this process from another under its number', () => {
    const startTime = processEntry(process.pid)?.startTime ?? '';
    expect(isRunning({ pid: process.pid, startTime })).toBe(true);
    expect(isRunning({ pid: process.pid, startTime: `${startTime}0` })).toBe(false);
    expect(isRunning({ pid: 2 ** 30, startTime })).toBe(false);
  });
});
