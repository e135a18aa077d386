import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rememberProcess } from '../../src/processes/leftover.ts';
import { processEntry } from '../../src/processes/tree.ts';
import { eventually, lives } from '../processes/living.ts';
import { standIn } from '../study/gpu-box.ts';
import { folder, servetune } from './command.ts';

let dir: string;
let env: NodeJS.ProcessEnv;
const begun: number[] = [];
beforeEach(() => {
  dir = folder();
  mkdirSync(join(dir, 'bin'));
  env = {
    PATH: [join(dir, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    HOME: dir,
    HF_HUB_OFFLINE: '1',
    NO_PROXY: '127.0.0.1',
  };
});
afterEach(() => {
  for (const pid of begun.splice(0)) if (lives(pid)) process.kill(pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

const doctor = (...args: string[]) => servetune(['doctor', ...args], { cwd: dir, env });

/** A process as a killed study leaves it: noted in the folder of its trial, and nobody's. */
function leave(run: string): number {
  const trial = join(dir, 'runs', run, 'trials/001');
  mkdirSync(trial, { recursive: true });
  writeFileSync(join(dir, 'runs', run, 'run.db'), '');
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
  child.unref();
  const pid = child.pid as number;
  begun.push(pid);
  const entry = processEntry(pid);
  if (entry === undefined) throw new Error('it did not start');
  rememberProcess(trial, entry);
  return pid;
}

describe('servetune doctor', () => {
  it('says what is here, and ends with 0 only when a study could run', async () => {
    const { code, stdout, stderr } = await doctor();
    expect(stderr).not.toContain('fault of servetune');
    for (const title of ['GPU', 'Engines', 'Limits', 'Disk', 'Environment', 'System']) expect(stdout).toContain(title);
    expect(stdout).toMatch(/ok\s+embedded\s+\d/);
    const problems = stdout.split('\n').filter((line) => /^ {2}problem /.test(line));
    expect(code, stdout).toBe(problems.length === 0 ? 0 : 3);
    expect(stdout).toContain(code === 0 ? 'A study could run here, with embedded' : 'No study should run here yet');
  });

  it('ends with 3 and a remedy when something would stop one', async () => {
    standIn(join(dir, 'bin'), { broken: 'Failed to initialize NVML: Driver/library version mismatch' });
    const { code, stdout } = await doctor();
    expect(code).toBe(3);
    expect(stdout).toMatch(/problem\s+driver\s.*mismatch/);
    expect(stdout).toContain('restart the machine');
  });

  it('tells a program the same as JSON', async () => {
    const { code, stdout } = await doctor('--json', '--model', 'tiny-qwen3');
    const found = JSON.parse(stdout);
    expect(found.ready).toBe(code === 0);
    expect(found.engines).toContainEqual(expect.objectContaining({ name: 'embedded', works: true }));
    expect(found.sections.at(-1)).toMatchObject({ title: 'Model', findings: [{ mark: 'ok' }] });
  });

  it('looks at a model: one that is not there is a problem', async () => {
    const { code, stdout } = await doctor('--model', './no-such.gguf');
    expect(code).toBe(3);
    expect(stdout).toMatch(/problem\s+model\s.*no-such\.gguf/);
  });
});

describe('servetune doctor --reap', () => {
  it('finds what an earlier run left, ends it and says so, and nothing else', async () => {
    const pid = leave('cut');
    const stranger = leave('other');
    const seen = await doctor();
    expect(seen.code).toBe(3);
    expect(seen.stdout).toContain(`pid ${pid}`);

    const one = await doctor('--reap', 'cut');
    expect(one).toMatchObject({ code: 0, stdout: expect.stringContaining(`ended pid ${pid}`) });
    await eventually(() => !lives(pid), 5);
    expect(lives(stranger)).toBe(true);

    const all = JSON.parse((await doctor('--reap', '--json')).stdout);
    expect(all.processes).toMatchObject([{ running: [{ pid: stranger }], survivors: [] }]);
    await eventually(() => !lives(stranger), 5);
    expect((await doctor('--reap')).stdout).toContain('nothing is left');
  });

  it('lets a process alone that only has the number of a recorded one', async () => {
    const pid = leave('reused');
    rememberProcess(join(dir, 'runs/reused/trials/001'), { pid, startTime: 'another' });
    expect((await doctor('--reap')).stdout).toContain('nothing is left');
    expect(lives(pid)).toBe(true);
  });

  it('removes a container that was never removed, by the id that was noted of it', async () => {
    const trial = join(dir, 'runs/boxed/trials/001');
    mkdirSync(trial, { recursive: true });
    writeFileSync(join(dir, 'runs/boxed/run.db'), '');
    writeFileSync(join(trial, 'container.id'), 'abcdef0123456789');
    expect((await doctor()).stdout).toMatch(/problem\s+leftover\s.*abcdef012345/);

    const docker = (script: string): void =>
      writeFileSync(join(dir, 'bin/docker'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    docker('echo "permission denied" >&2; exit 1');
    expect(await doctor('--reap')).toMatchObject({ code: 1, stdout: expect.stringContaining('permission denied') });
    docker(`echo "$@" >> ${join(dir, 'asked')}`);
    expect(await doctor('--reap')).toMatchObject({ code: 0, stdout: expect.stringContaining('removed the container') });
    expect(readFileSync(join(dir, 'asked'), 'utf8')).toBe('rm --force abcdef0123456789\n');
    expect((await doctor('--reap')).stdout).toContain('nothing is left');
  });

  it('refuses what makes no sense', async () => {
    expect(await doctor('cut')).toMatchObject({ code: 2, stderr: expect.stringContaining('--reap') });
    expect(await doctor('--reap', 'nowhere')).toMatchObject({ code: 2, stderr: expect.stringContaining('no run') });
    expect(await doctor('--reap', '--model', 'm')).toMatchObject({ code: 2 });
  });
});
