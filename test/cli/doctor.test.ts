import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rememberProcess } from '../../src/processes/leftover.ts';
import { acquireLock } from '../../src/processes/lock.ts';
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

describe('servetune doctor STUDY.yaml', () => {
  const study = (engines: string, model = 'Qwen/Qwen3-14B'): void =>
    writeFileSync(
      join(dir, 'study.yaml'),
      `name: s\nmodel: ${model}\nengines: [${engines}]\nbaseline: {engine: ${/\w[\w.]*(?=[@,]|$)/.exec(engines.replace('{ name: ', ''))?.[0]}}\nstages: []\nworkloads: [{ name: w }]\n`,
    );

  it('looks at the engines, interpreters and images that a study names', async () => {
    writeFileSync(join(dir, 'bin/uv'), '#!/bin/sh\necho uv 0.9.0\n', { mode: 0o755 });
    writeFileSync(join(dir, 'bin/docker'), '#!/bin/sh\ncase "$*" in version*) echo 28 ;; *inspect*) exit 1 ;; esac\n', {
      mode: 0o755,
    });
    standIn(join(dir, 'bin'), {});
    study(
      [
        '{ name: vllm, version: 0.11.0, python: /nowhere/bin/python }',
        '{ name: sglang, version: 0.5.5, host: docker }',
        '{ name: tensorrt-llm, version: 1.2.0, host: uv }',
      ].join(', '),
    );
    const { code, stdout } = await doctor('study.yaml');
    expect(code).toBe(3);
    expect(stdout).toMatch(/problem\s+vllm@0\.11\.0 \(\/nowhere\/bin\/python\)\s.*does not exist/);
    expect(stdout).toMatch(/note\s+sglang@0\.5\.5 \(docker\)\s+lmsysorg\/sglang:v0\.5\.5 is not here: it is pulled/);
    expect(stdout).toMatch(/ok\s+tensorrt-llm@1\.2\.0 \(uv\)\s+uv installs tensorrt-llm==1\.2\.0/);
    expect(stdout).toMatch(/problem\s+model\s.*HF_HUB_OFFLINE/);
  });

  it('tells of another version, of settings that cannot work, and of a server that does not answer', async () => {
    study('embedded@0.0.1', 'tiny-qwen3');
    expect((await doctor('study.yaml')).stdout).toMatch(
      /problem\s+embedded@0\.0\.1 \(local\)\s.*is installed, not 0\.0\.1/,
    );
    study('embedded', 'tiny-qwen3');
    expect((await doctor('study.yaml')).stdout).toMatch(/ok\s+embedded \(local\)\s/);
    study('{ name: external, url: "http://127.0.0.1:9" }');
    const served = await doctor('study.yaml');
    expect(served.stdout).toMatch(/problem\s+external \(http:\/\/127\.0\.0\.1:9\)\s+nothing answers/);
    expect(served.stdout).not.toMatch(/^Model/m);
    study('embedded, embedded', 'tiny-qwen3');
    expect((await doctor('study.yaml')).stdout).toMatch(/problem\s+study\s.*embedded is there twice/);
  });

  it('says which GPUs are hidden', async () => {
    standIn(join(dir, 'bin'), {});
    env.CUDA_VISIBLE_DEVICES = '';
    const { stdout } = await doctor();
    expect(stdout).toMatch(/note\s+hidden\s+GPU 0 \(NVIDIA H100 80GB HBM3\): by CUDA_VISIBLE_DEVICES=/);
    expect(stdout).toContain('unset CUDA_VISIBLE_DEVICES');
  });

  it('opens the files of a model', async () => {
    writeFileSync(join(dir, 'bogus.gguf'), 'text');
    expect((await doctor('--model', './bogus.gguf')).stdout).toMatch(/problem\s+model\s+not a GGUF file/);
    mkdirSync(join(dir, 'm'));
    writeFileSync(join(dir, 'm/config.json'), '{');
    writeFileSync(join(dir, 'm/model.safetensors'), '');
    expect((await doctor('--model', './m')).stdout).toMatch(/problem\s+model\s/);
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

  it('passes over a run that is at work, and says so', async () => {
    const pid = leave('busy');
    using _ = acquireLock(join(dir, 'runs/busy'));
    const one = await doctor('--reap', 'busy');
    expect(one.code).toBe(0);
    expect(one.stdout).toMatch(/runs\/busy: passed over: in use by process \d+ since/);
    expect(one.stdout).not.toContain('nothing is left');
    const all = await doctor('--reap');
    expect(all.stdout).toMatch(/nothing is left of the other runs[\s\S]*busy: passed over/);
    expect(JSON.parse((await doctor('--reap', '--json')).stdout).passedOver).toMatchObject([{ dir: 'runs/busy' }]);
    expect(lives(pid)).toBe(true);
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
