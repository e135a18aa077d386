import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { rememberProcess } from '../../src/processes/leftover.ts';
import { acquireLock } from '../../src/processes/lock.ts';
import { newMark, withMark } from '../../src/processes/mark.ts';
import { findLeftovers, leftoverIn, nameOthers, reap, rememberFamily } from '../../src/processes/reap.ts';
import { type ProcessIdentity, processEntry } from '../../src/processes/tree.ts';
import { eventually, fixture, lives } from './living.ts';

const started: ChildProcess[] = [];
const suspects: number[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  for (const pid of suspects.splice(0)) if (lives(pid)) process.kill(pid, 'SIGKILL');
});

/** A process that nobody looks after, in a session of its own. */
function stray(argv: readonly string[] = ['sleep', '1000'], mark?: string): ProcessIdentity {
  const [program = '', ...args] = argv;
  const env = mark === undefined ? process.env : withMark({ PATH: process.env.PATH ?? '' }, mark);
  const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  started.push(child);
  return identity(child.pid ?? 0);
}

function identity(pid: number): ProcessIdentity {
  const { startTime } = processEntry(pid) ?? { startTime: '' };
  return { pid, startTime };
}

/** A run with a folder for each of these trials. */
function run(...trials: readonly string[]): { readonly runs: string; readonly runDir: string; dirs: string[] } {
  const runs = mkdtempSync(join(tmpdir(), 'servetune-reap-'));
  const runDir = join(runs, 'small');
  const dirs = trials.map((name) => join(runDir, 'trials', name));
  for (const dir of dirs) mkdirSync(dir, { recursive: true });
  return { runs, runDir, dirs };
}

describe('leftovers of earlier runs', () => {
  it('are found from the folder of a trial, of a run, or of all runs, and ended', async () => {
    const { runs, runDir, dirs } = run('001', '002', '003');
    const [first = '', second = ''] = dirs;
    const engine = stray();
    rememberProcess(first, engine);
    const gone = stray();
    rememberProcess(second, gone);
    process.kill(gone.pid, 'SIGKILL');
    await eventually(() => !lives(gone.pid));

    const expected = [{ dir: first, root: engine, running: [engine] }];
    for (const folder of [runs, runDir, first]) expect(findLeftovers(folder)).toEqual(expected);
    expect(await reap(findLeftovers(runs))).toEqual([{ ...expected[0], forced: false, survivors: [] }]);
    expect(lives(engine.pid)).toBe(false);
    expect(findLeftovers(runs)).toEqual([]);
  });

  it('are ended by force where they ignore SIGTERM, with what descends from them', async () => {
    const { dirs } = run('001');
    const [dir = ''] = dirs;
    const engine = stray(fixture('forking.mjs'));
    const pids = await printed(started.at(-1));
    suspects.push(...pids);
    rememberProcess(dir, engine);
    const leftover = leftoverIn(dir);
    expect(leftover?.running.map(({ pid }) => pid).sort()).toEqual([...pids].sort());
    expect(await reap(leftover ? [leftover] : [], 0.3)).toMatchObject([{ forced: true, survivors: [] }]);
    expect(pids.filter(lives)).toEqual([]);
  });

  it('are found where only a process in a session of its own is left of them, if it was noted', async () => {
    const { dirs } = run('001', '002');
    const [noted = '', unnoted = ''] = dirs;
    const root = stray();
    const worker = stray();
    rememberFamily(noted, root, [root, worker]);
    rememberProcess(unnoted, root);
    process.kill(root.pid, 'SIGKILL');
    await eventually(() => !lives(root.pid));
    expect(leftoverIn(unnoted)).toBeUndefined();
    const leftover = leftoverIn(noted);
    expect(leftover?.running).toEqual([worker]);
    await reap(leftover ? [leftover] : []);
    expect(lives(worker.pid)).toBe(false);
  });

  it('are found by the mark in their environment, whatever else is gone, and nobody else’s are', async () => {
    const { dirs } = run('001', '002');
    const [dir = '', other = ''] = dirs;
    const [mark, otherMark] = [newMark(), newMark()];
    const root = stray();
    const slipped = stray(['sleep', '1000'], mark);
    const theirs = stray(['sleep', '1000'], otherMark);
    rememberProcess(other, { ...theirs, mark: otherMark });
    for (const remember of [
      () => rememberFamily(dir, { ...root, mark }, [root]),
      () => rememberProcess(dir, { ...root, mark }),
    ]) {
      remember();
      const living = leftoverIn(dir)?.running.map(({ pid }) => pid) ?? [];
      expect(living.sort()).toEqual([root.pid, slipped.pid].sort());
    }
    process.kill(root.pid, 'SIGKILL');
    await eventually(() => !lives(root.pid));
    const leftover = leftoverIn(dir);
    expect(leftover).toEqual({ dir, root, mark, running: [slipped] });
    await reap(leftover ? [leftover] : []);
    expect(lives(slipped.pid)).toBe(false);
    expect(lives(theirs.pid)).toBe(true);
  });

  it.each([
    ['by itself', rememberProcess],
    ['with its family', (dir: string, root: ProcessIdentity) => rememberFamily(dir, root, [root])],
  ])('are not who has their number now, noted %s', async (_, remember) => {
    const { runDir, dirs } = run('001');
    const [dir = ''] = dirs;
    expect(leftoverIn(dir)).toBeUndefined();
    const other = stray();
    const later = { pid: other.pid, startTime: `${other.startTime}9` };
    remember(dir, later);
    expect(findLeftovers(runDir)).toEqual([]);
    await reap([{ dir, root: later, running: [later] }]);
    expect(lives(other.pid)).toBe(true);
    // What is true of that number again is a leftover again.
    remember(dir, other);
    expect(leftoverIn(dir)).toEqual({ dir, root: other, running: [other] });
  });

  it('are not the engine of a run that somebody is at work on', () => {
    const { runDir, dirs } = run('001');
    rememberProcess(dirs[0] as string, stray());
    const lock = acquireLock(runDir);
    expect(findLeftovers(runDir)).toEqual([]);
    lock.release();
    expect(findLeftovers(runDir)).toHaveLength(1);
    const dead = { pid: 4_000_000, startTime: '1@x', machine: hostname(), since: '' };
    writeFileSync(join(runDir, 'lock.json'), JSON.stringify(dead));
    expect(findLeftovers(runDir)).toHaveLength(1);
  });

  it.each(['', '{', 'null', '[]', '{"pid":1,"startTime":"1"}', '{"pid":-1,"startTime":"1"}', '{"pid":"5"}'])(
    'are none in a broken note: %s',
    (text) => {
      const { runDir, dirs } = run('001');
      writeFileSync(join(dirs[0] as string, 'engine.json'), text);
      expect(findLeftovers(runDir)).toEqual([]);
    },
  );

  it('are looked for in folders, not behind links, and nowhere where there is no folder', () => {
    const { runs, runDir, dirs } = run('001');
    rememberProcess(dirs[0] as string, stray());
    const elsewhere = mkdtempSync(join(tmpdir(), 'servetune-reap-'));
    symlinkSync(runDir, join(elsewhere, 'link'));
    expect(findLeftovers(elsewhere)).toEqual([]);
    expect(findLeftovers(join(runs, 'nothing'))).toEqual([]);
  });

  it('leave the note of the first process when the disk refuses the longer one', () => {
    const dir = join(tmpdir(), 'servetune-reap-no-such', '\0');
    expect(() => rememberFamily(dir, identity(process.pid), [])).not.toThrow();
    expect(existsSync(join(tmpdir(), 'servetune-reap-no-such'))).toBe(false);
  });
});

describe('others that hold something', () => {
  it('are named by their first words, and let alone', () => {
    const { dirs } = run('001');
    const ours = stray();
    rememberProcess(dirs[0] as string, ours);
    const leftover = leftoverIn(dirs[0] as string);
    const other = stray(['sleep', '1000', '0', '0', '0']);
    const named = nameOthers([other.pid, ours.pid, other.pid], leftover ? [leftover] : []);
    expect(named).toEqual([{ pid: other.pid, command: 'sleep 1000 0 ...' }]);
    expect(lives(other.pid)).toBe(true);
    expect(nameOthers([4_000_000], [])).toEqual([{ pid: 4_000_000, command: null }]);
    expect(readFileSync(`/proc/${other.pid}/comm`, 'utf8').trim()).toBe('sleep');
  });
});

/** The numbers that a fixture prints. */
async function printed(child: ChildProcess | undefined): Promise<number[]> {
  let text = '';
  child?.stdout?.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  const match = await eventually(() => /\{"pids":(\[[\d,]+\])\}/.exec(text));
  return JSON.parse(match[1] as string) as number[];
}
