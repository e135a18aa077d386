import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ServetuneError } from '../../src/kit/errors.ts';
import { markedWith } from '../../src/processes/mark.ts';
import { type ProcessSpec, supervise } from '../../src/processes/supervisor.ts';
import { isRunning } from '../../src/processes/tree.ts';
import { eventually, expectFreshBuild, fixture, lives, living, parentOf, printedPids } from './living.ts';

const dir = mkdtempSync(join(tmpdir(), 'servetune-supervisor-'));
const env = { PATH: process.env.PATH ?? '' };
let logs = 0;
const spec = (argv: readonly string[], more: Partial<ProcessSpec> = {}): ProcessSpec => ({
  argv,
  env,
  logPath: join(dir, 'logs', `${++logs}.log`),
  ...more,
});
/** Whatever a failing test leaves, by number. */
const suspects: number[] = [];

beforeAll(expectFreshBuild);
afterEach(() => {
  for (const pid of suspects.splice(0)) if (lives(pid)) process.kill(pid, 'SIGKILL');
});
afterAll(() => rmSync(dir, { recursive: true }));

describe('a program that ends by itself', () => {
  it('reports its exit code, and its whole output is in the log', async () => {
    const flood = spec(fixture('flood.mjs', '20000000'));
    await using supervised = await supervise(flood);
    expect(await supervised.exited).toEqual({ code: 3, signal: null });
    expect(statSync(flood.logPath).size).toBe(20_000_000 + '\u001b[31mERROR\u001b[0m the end\n'.length);
    expect(supervised.logTail(2)).toEqual(['x'.repeat(999), 'ERROR the end']);
    expect(await supervised.stop()).toMatchObject({ exit: { code: 3, signal: null }, forced: false, survivors: [] });
  });

  it('reports the signal that killed it', async () => {
    await using supervised = await supervise(spec(['sleep', '1000']));
    process.kill(supervised.pid, 'SIGKILL');
    expect(await supervised.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('takes with it what it leaves behind, in its group and in sessions elsewhere', async () => {
    const forking = spec(fixture('forking.mjs', 'leave'));
    await using supervised = await supervise(forking);
    const pids = await printedPids(forking.logPath);
    suspects.push(...pids);
    expect(await supervised.exited).toEqual({ code: 7, signal: null });
    await eventually(() => living(pids).length === 0);
    expect(await supervised.stop()).toMatchObject({ exit: { code: 7, signal: null }, forced: true, survivors: [] });
  });
});

describe('stop', () => {
  it('is gentle first', async () => {
    await using supervised = await supervise(spec(['sleep', '1000']));
    const stopped = await supervised.stop();
    expect(stopped).toMatchObject({ exit: { code: null, signal: 'SIGTERM' }, forced: false, survivors: [] });
    expect(stopped.durationS).toBeLessThan(5);
  });

  it('then forces, and reaches a grandchild in a session of its own', async () => {
    const forking = spec(fixture('forking.mjs'));
    await using supervised = await supervise(forking);
    const pids = await printedPids(forking.logPath);
    suspects.push(...pids);
    expect(pids).toHaveLength(3);
    expect(living(pids)).toEqual(pids);
    const stopped = await supervised.stop(0.3);
    expect(living(pids)).toEqual([]);
    expect(stopped).toMatchObject({ exit: { code: null, signal: 'SIGKILL' }, forced: true, survivors: [] });
    expect(stopped.durationS).toBeGreaterThanOrEqual(0.3);
  });

  it.runIf(process.platform === 'linux')('reaches a daemon whose parents nobody saw, by its output', async () => {
    const daemon = spec(fixture('daemon.mjs'));
    await using supervised = await supervise(daemon);
    const pids = await printedPids(daemon.logPath);
    suspects.push(...pids);
    await new Promise((done) => setTimeout(done, 1000));
    expect(living(pids)).toEqual(pids);
    await supervised.stop(0.2);
    expect(living(pids)).toEqual([]);
  });

  it('gives all callers one result, and a later one can shorten the grace', async () => {
    const stubborn = spec(fixture('stubborn.mjs'));
    await using supervised = await supervise(stubborn);
    suspects.push(...(await printedPids(stubborn.logPath)));
    const patient = supervised.stop(1000);
    const [a, b] = await Promise.all([patient, supervised.stop(0.1)]);
    expect(a).toBe(b);
    expect(await supervised.stop()).toBe(a);
    expect(a).toMatchObject({ exit: { signal: 'SIGKILL' }, forced: true });
  });

  it('happens at the end of a scope', async () => {
    let pid = 0;
    {
      await using supervised = await supervise(spec(['sleep', '1000']));
      pid = supervised.pid;
      expect(isRunning(supervised)).toBe(true);
    }
    expect(lives(pid)).toBe(false);
  });
});

describe.runIf(process.platform === 'linux')('who left parents, session and outputs between two looks', () => {
  /** Two forks and a session of its own, at once; then the program goes on, or ends. */
  const daemonize = (then: string): string[] => [
    'sh',
    '-c',
    `setsid sh -c '(exec setsid sleep 1000 </dev/null >/dev/null 2>&1 &) ; exit 0' </dev/null >/dev/null 2>&1; ${then}`,
  ];
  const markedOf = ({ mark = '' }: { readonly mark?: string }): number[] => markedWith(mark).map(({ pid }) => pid);

  it('is ended with the program, and a program of another mark is not', async () => {
    await using other = await supervise(spec(['sleep', '1000']));
    await using supervised = await supervise(spec(daemonize('exec sleep 1000')));
    const pids = await eventually(() => markedOf(supervised).length === 2 && markedOf(supervised));
    suspects.push(...pids);
    expect(await supervised.stop()).toMatchObject({ survivors: [], forced: false });
    expect(living(pids)).toEqual([]);
    expect(lives(other.pid)).toBe(true);
  });

  it('is ended when the program has ended by itself, and when the watchdog is killed', async () => {
    await using supervised = await supervise(spec(daemonize('exit 4')));
    expect((await supervised.exited).code).toBe(4);
    await supervised.stop();
    expect(markedOf(supervised)).toEqual([]);

    await using orphaned = await supervise(spec(daemonize('exec sleep 1000')));
    const pids = await eventually(() => markedOf(orphaned).length === 2 && markedOf(orphaned));
    suspects.push(...pids);
    process.kill(parentOf(orphaned.pid), 'SIGKILL');
    expect(await orphaned.exited).toMatchObject({ watchdogLost: true });
    expect(living(pids)).toEqual([]);
  });
});

describe('no process outlives its owner', () => {
  it('when the owner is killed, the whole tree is gone within 5 s', async () => {
    const { argv, logPath } = spec(fixture('forking.mjs'));
    const owner = spawn(process.execPath, [...fixture('owner.mjs').slice(1), logPath, ...argv], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((done) => owner.stdout.once('data', done));
    const pids = await printedPids(logPath);
    const all = [...pids, parentOf(pids[0] as number)];
    suspects.push(...all);
    expect(living(all)).toEqual(all);
    // Long enough for the watchdog to have looked; a real engine is minutes old.
    await new Promise((done) => setTimeout(done, 500));
    owner.kill('SIGKILL');
    const killedAt = performance.now();
    await eventually(() => living(all).length === 0);
    expect((performance.now() - killedAt) / 1000).toBeLessThan(5);
    expect(readFileSync(logPath, 'utf8')).toContain('servetune is gone');
  });

  it('when the watchdog is killed, the owner ends the tree', async () => {
    const forking = spec(fixture('forking.mjs'));
    await using supervised = await supervise(forking);
    const pids = await printedPids(forking.logPath);
    suspects.push(...pids);
    await new Promise((done) => setTimeout(done, 500));
    process.kill(parentOf(supervised.pid), 'SIGKILL');
    expect(await supervised.exited).toEqual({ code: null, signal: 'SIGKILL', watchdogLost: true });
    expect(living(pids)).toEqual([]);
    expect(await supervised.stop()).toMatchObject({ forced: true, survivors: [] });
    expect(supervised.logTail(1)).toEqual(['servetune: the watchdog of this program is gone; ending the program']);
  });

  it('when the watchdog is asked to end, it ends the tree first', async () => {
    await using supervised = await supervise(spec(['sleep', '1000']));
    process.kill(parentOf(supervised.pid), 'SIGTERM');
    expect(await supervised.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(await supervised.stop()).toMatchObject({ forced: false, survivors: [] });
  });
});

describe('a program as it is started', () => {
  it('has exactly the environment, directory and arguments that it was given, and its mark', async () => {
    const wanted = { PATH: env.PATH, GREETING: 'hello there', NODE_NO_WARNINGS: '1' };
    const print = spec(fixture('print.mjs'), { env: wanted, cwd: dir });
    await using supervised = await supervise(print);
    await supervised.exited;
    const seen = { ...wanted, SERVETUNE_TRIAL: supervised.mark };
    expect(JSON.parse(supervised.logTail(2)[0] as string)).toEqual(seen);

    await using where = await supervise(spec(['pwd', '-P'], { cwd: dir }));
    await where.exited;
    expect(where.logTail(1)[0]).toContain(dir);
  });

  it.runIf(process.platform === 'linux')('leads a session of its own, so no terminal can interrupt it', async () => {
    await using supervised = await supervise(spec(['sleep', '1000']));
    const session = (pid: number): number[] =>
      readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ').slice(2, 4).map(Number) ?? [];
    expect(session(supervised.pid)).toEqual([supervised.pid, supervised.pid]);
    const watchdog = parentOf(supervised.pid);
    expect(session(watchdog)).toEqual([watchdog, watchdog]);
  });

  it('appends to its log, but its tail is its own', async () => {
    const logPath = join(dir, 'shared.log');
    writeFileSync(logPath, 'an earlier start\n');
    await using supervised = await supervise(spec(['echo', 'this start'], { logPath }));
    await supervised.exited;
    expect(supervised.logTail(10)).toEqual(['this start']);
    expect(readFileSync(logPath, 'utf8')).toBe('an earlier start\nthis start\n');
  });
});

describe('what cannot be started', () => {
  const rejection = async (wrong: ProcessSpec): Promise<ServetuneError> => {
    const error = await supervise(wrong).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ServetuneError);
    expect((error as ServetuneError).hint).toBeTruthy();
    return error as ServetuneError;
  };

  it('a program that does not exist', async () => {
    const error = await rejection(spec(['no-such-engine', 'serve']));
    expect(error).toMatchObject({
      code: 'program_not_found',
      message: 'no-such-engine is not installed, or not on PATH',
    });
  });

  it('a script whose interpreter is gone, as in an environment that was moved', async () => {
    const script = join(dir, 'engine');
    writeFileSync(script, '#!/no/such/venv/bin/python\n', { mode: 0o755 });
    const error = await rejection(spec([script]));
    expect(error.code).toBe('program_not_found');
    expect(error.message).toContain('interpreter');
  });

  it('a file that is no program', async () => {
    const file = join(dir, 'not-executable');
    writeFileSync(file, 'text', { mode: 0o644 });
    expect((await rejection(spec([file]))).code).toBe('program_not_executable');
  });

  it('in a directory that does not exist', async () => {
    expect((await rejection(spec(['sleep', '1'], { cwd: join(dir, 'nowhere') }))).code).toBe('no_such_directory');
  });

  it('a log that cannot be opened, and then nothing runs', async () => {
    const marker = join(dir, 'was-started');
    writeFileSync(join(dir, 'a-file'), '');
    const error = await rejection(spec(['touch', marker], { logPath: join(dir, 'a-file', 'engine.log') }));
    expect(error.code).toBe('log_not_writable');
    expect((await rejection(spec(['touch', marker], { logPath: dir }))).hint).toContain('in the way');
    expect(() => statSync(marker)).toThrow('ENOENT');
  });
});
