import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { acquireLock } from '../../src/processes/lock.ts';
import { fixture } from './living.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'servetune-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Starts a process that takes the lock; null when it was refused. */
async function holder(): Promise<ChildProcess | null> {
  const [program = '', ...args] = fixture('lock-holder.mjs', dir);
  const child = spawn(program, args, { env: {}, stdio: ['ignore', 'pipe', 'ignore'] });
  const holds = await new Promise<boolean>((done) => {
    child.stdout.once('data', () => done(true));
    child.once('exit', () => done(false));
  });
  return holds ? child : null;
}

async function kill(child: ChildProcess | null): Promise<void> {
  const exited = new Promise((done) => child?.once('exit', done));
  child?.kill('SIGKILL');
  await exited;
}

const refusal = (): InputError => {
  try {
    acquireLock(dir).release();
  } catch (error) {
    if (error instanceof InputError) return error;
    throw error;
  }
  throw new Error('the lock was given');
};

it('is held until released', () => {
  const path = join(dir, 'deep', 'lock.json');
  {
    using lock = acquireLock(join(dir, 'deep'));
    expect(lock.path).toBe(path);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid });
    expect(() => acquireLock(join(dir, 'deep'))).toThrow(InputError);
  }
  expect(existsSync(path)).toBe(false);
  const again = acquireLock(join(dir, 'deep'));
  again.release();
  again.release();
  expect(existsSync(path)).toBe(false);
});

it('is refused while another process holds it, and taken over once that was killed', async () => {
  const child = await holder();
  const error = refusal();
  expect(error.message).toContain(`process ${child?.pid}`);
  expect(error.problems[0]?.hint).toContain(`kill ${child?.pid}`);
  await kill(child);
  using lock = acquireLock(dir);
  expect(JSON.parse(readFileSync(lock.path, 'utf8'))).toMatchObject({ pid: process.pid });
  expect(readdirSync(dir)).toEqual(['lock.json']);
});

it('is held no more once its file is gone or somebody else’s', () => {
  using lock = acquireLock(dir);
  expect(lock.isHeld()).toBe(true);
  rmSync(lock.path);
  expect(lock.isHeld()).toBe(false);
  writeFileSync(lock.path, JSON.stringify({ pid: process.pid, startTime: 'x', machine: hostname(), since: 'later' }));
  expect(lock.isHeld()).toBe(false);
});

const owned = (owner: object): void => writeFileSync(join(dir, 'lock.json'), JSON.stringify(owner));
const since = '2026-01-01T00:00:00.000Z';

it('is taken over when its number was given to another process', () => {
  owned({ pid: process.pid, startTime: 'long ago', machine: hostname(), since });
  acquireLock(dir).release();
});

it.each(['', '{"pid":', '[]', '{"pid":1}'])('is taken over when a crash left only %j', (content) => {
  writeFileSync(join(dir, 'lock.json'), content);
  acquireLock(dir).release();
});

it('of another machine cannot be judged from here', () => {
  owned({ pid: 1, startTime: 'x', machine: `not-${hostname()}`, since });
  const error = refusal();
  expect(error.message).toContain(`on not-${hostname()}`);
  expect(error.problems[0]?.hint).toContain('lock.json');
});

it('goes to exactly one of many who find a dead owner', async () => {
  owned({ pid: 2 ** 30, startTime: 'x', machine: hostname(), since });
  const children = await Promise.all(Array.from({ length: 6 }, holder));
  const winners = children.filter((child) => child !== null);
  expect(winners).toHaveLength(1);
  expect(refusal().message).toContain(`process ${winners[0]?.pid}`);
  await Promise.all(winners.map(kill));
});

it('says why when it cannot be written', () => {
  writeFileSync(join(dir, 'file'), '');
  expect(() => acquireLock(join(dir, 'file'))).toThrow(InputError);
});
