import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { wallTime } from '../kit/clock.ts';
import { InputError, messageOf, systemCode } from '../kit/errors.ts';
import { makeFolder } from '../kit/files.ts';
import { isRunning, processEntry } from './tree.ts';

export interface Lock extends Disposable {
  readonly path: string;
  /** Nobody has removed it, and nobody else has taken it over. */
  isHeld(): boolean;
  /** The same as disposing it; may be called again. */
  release(): void;
}

interface Owner {
  readonly pid: number;
  readonly startTime: string;
  /** On a shared disk the number of a process means nothing on another machine. */
  readonly machine: string;
  readonly since: string;
}

/**
 * Takes the exclusive lock on a directory (created when missing): the file `lock.json` in it, held by this process
 * until released. A lock whose owner is no longer running is taken over. Throws an InputError that names the owner.
 */
export function acquireLock(dir: string): Lock {
  const path = join(dir, 'lock.json');
  try {
    makeFolder(dir);
    return claim(path, dir);
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError([
      { place: path, message: `the lock cannot be written: ${messageOf(error)}`, hint: 'name another directory' },
    ]);
  }
}

function claim(path: string, dir: string): Lock {
  const mine = ourselves();
  for (;;) {
    if (create(path, mine)) return lockOf(path, mine);
    const owner = readOwner(path);
    if (owner === 'gone') continue;
    if (owner !== 'unreadable' && mayBeAlive(owner)) throw heldBy(owner, path, dir);
    clear(path, owner, dir);
  }
}

/**
 * Removes a dead owner's file. Two who find the same dead owner must not both do so, or the second would remove the
 * first one's new lock; hence a lock for this as well, for the blink of an eye, and a second look under it.
 */
function clear(path: string, dead: Owner | 'unreadable', dir: string): void {
  try {
    using _ = claim(`${path}.takeover`, dir);
    const owner = readOwner(path);
    const same = owner === dead || (typeof owner === 'object' && typeof dead === 'object' && equal(owner, dead));
    if (same) rmSync(path, { force: true });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    pause(20); // somebody else is taking over right now
  }
}

function lockOf(path: string, mine: Owner): Lock {
  const isHeld = (): boolean => {
    const owner = readOwner(path);
    return typeof owner === 'object' && equal(owner, mine);
  };
  const release = (): void => {
    if (isHeld()) rmSync(path, { force: true });
  };
  return { path, isHeld, release, [Symbol.dispose]: release };
}

function ourselves(): Owner {
  const startTime = processEntry(process.pid)?.startTime ?? '';
  return { pid: process.pid, startTime, machine: hostname(), since: wallTime() };
}

/** False when there is such a file. */
function create(path: string, owner: Owner): boolean {
  try {
    writeFileSync(path, `${JSON.stringify(owner)}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    rmIfEmpty(path);
    throw error;
  }
}

/** A full disk lets a file be created that cannot be written. */
function rmIfEmpty(path: string): void {
  try {
    if (readFileSync(path).length === 0) rmSync(path);
  } catch {
    // It was never created.
  }
}

function readOwner(path: string): Owner | 'gone' | 'unreadable' {
  // Between being created and being written a file is empty; one that stays so was left by a crash in between.
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      const { pid, startTime, machine, since } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Owner>;
      if (pid !== undefined && startTime !== undefined && machine !== undefined && since !== undefined) {
        return { pid, startTime, machine, since };
      }
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return 'gone';
      if (!(error instanceof SyntaxError)) throw error;
    }
    pause(20);
  }
  return 'unreadable';
}

const equal = (a: Owner, b: Owner): boolean =>
  a.pid === b.pid && a.startTime === b.startTime && a.machine === b.machine && a.since === b.since;

const mayBeAlive = (owner: Owner): boolean => owner.machine !== hostname() || isRunning(owner);

function heldBy(owner: Owner, path: string, dir: string): InputError {
  const elsewhere = owner.machine !== hostname();
  return new InputError([
    {
      place: dir,
      message: `in use by process ${owner.pid}${elsewhere ? ` on ${owner.machine}` : ''} since ${owner.since}`,
      hint: elsewhere
        ? `wait for it; if that machine is off or was a container that is gone, delete ${path}`
        : `wait for it, or stop it (kill ${owner.pid}), or name another directory`,
    },
  ]);
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
