import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { local } from '../../src/hosts/local.ts';
import { hosts } from '../../src/hosts/table.ts';
import { InputError, type Problem } from '../../src/kit/errors.ts';
import { runToEnd } from '../../src/processes/run.ts';
import { hostContract } from '../contracts/host.ts';

const place = { engine: 'vllm' };
const env = { PATH: process.env.PATH ?? '' };
const dir = mkdtempSync(join(tmpdir(), 'servetune-hosts-'));
afterAll(() => rmSync(dir, { recursive: true }));

const problemOf = (attempt: () => unknown): Problem | undefined => {
  try {
    attempt();
  } catch (error) {
    if (error instanceof InputError) return error.problems[0];
  }
  throw new Error('nothing was refused');
};

hostContract(local, env);

it('every host has a name of its own, and local is the default', () => {
  expect(new Set(hosts.map(({ name }) => name)).size).toBe(hosts.length);
  expect(hosts[0]).toBe(local);
});

describe('local', () => {
  it('starts npx servetune as this very program, without npx between', () => {
    const command = { argv: ['npx', 'servetune', 'engine', '--port', '8000'], env: { A: 'b' } };
    const own = {
      argv: [process.execPath, resolve(import.meta.dirname, '../../bin/servetune.cjs'), 'engine', '--port', '8000'],
      env: { A: 'b' },
    };
    expect(local.wrap(command, place)).toEqual(own);
    expect(local.wrap(command, { ...place, python: '/opt/none/bin/python' })).toEqual(own);
  });

  it('finds the program that comes first on the PATH of the command, not on ours', () => {
    writeFileSync(join(dir, 'sh'), '#!/bin/sh\n', { mode: 0o755 });
    const { argv } = local.wrap({ argv: ['sh', '-c', 'true'], env: { PATH: `${dir}:${env.PATH}` } }, place);
    expect(argv).toEqual([join(dir, 'sh'), '-c', 'true']);
    expect(() => local.wrap({ argv: ['sh'], env: { PATH: '/nowhere' } }, place)).toThrow(
      'sh is not installed, or not on PATH',
    );
  });

  it('names a path that is wrong', () => {
    expect(() => local.wrap({ argv: ['/opt/none/vllm'], env }, place)).toThrow('/opt/none/vllm does not exist');
  });
});

describe('local with python', () => {
  const venv = join(dir, 'venv');
  const bin = join(venv, 'bin');
  const python = join(bin, 'python');
  const there = { ...place, python };

  beforeAll(() => {
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(venv, 'pyvenv.cfg'), 'home = /usr/bin\n');
    // Says how it was called and what it sees; also what its children find first on PATH.
    const says = '#!/bin/sh\necho "$0 $*|$VIRTUAL_ENV|$PYTHONHOME|$(command -v ninja)"\n';
    writeFileSync(join(venv, 'interpreter'), says, { mode: 0o755 });
    symlinkSync('../interpreter', python);
    writeFileSync(join(bin, 'vllm'), says, { mode: 0o755 });
    writeFileSync(join(bin, 'ninja'), says, { mode: 0o755 });
  });

  it.each([
    [['python3', '-m', 'sglang.launch_server'], `${python} -m sglang.launch_server`],
    [['python', '-V'], `${python} -V`],
    [['vllm', 'serve', 'm'], `${join(bin, 'vllm')} serve m`],
  ])('runs %j in it, as if it were activated', async (argv, called) => {
    const hosted = local.wrap({ argv, env: { ...env, VIRTUAL_ENV: '/other', PYTHONHOME: '/other' } }, there);
    const { stdout } = await runToEnd(hosted.argv, { env: hosted.env, timeoutS: 20 });
    expect(stdout.trim()).toBe(`${called}|${venv}||${join(bin, 'ninja')}`);
  });

  it('takes the folder of an interpreter that is in no virtual environment, without claiming one', () => {
    const plain = join(dir, 'conda', 'bin');
    mkdirSync(plain, { recursive: true });
    writeFileSync(join(plain, 'python'), '#!/bin/sh\n', { mode: 0o755 });
    const hosted = local.wrap({ argv: ['python3'], env: { ...env, VIRTUAL_ENV: '/other' } }, { ...place, python: join(plain, 'python') }); // biome-ignore format: one call
    expect(hosted).toEqual({ argv: [join(plain, 'python')], env: { PATH: `${plain}:${env.PATH}` } });
  });

  it('understands ~', () => {
    const hosted = local.wrap(
      { argv: ['vllm'], env: { ...env, HOME: dir } },
      { ...place, python: '~/venv/bin/python' },
    );
    expect(hosted.argv).toEqual([join(bin, 'vllm')]);
  });

  it('refuses a program that the environment lacks, although PATH has one', () => {
    const problem = problemOf(() => local.wrap({ argv: ['sh'], env }, there));
    expect(problem?.message).toBe(`there is no ${join(bin, 'sh')}`);
    expect(problem?.hint).toContain(`uv pip install --python ${python} vllm`);
  });

  it('refuses what is no interpreter, with the right one where it can be seen', () => {
    const at = (named: string): Problem | undefined => problemOf(() => local.wrap({ argv: ['vllm'], env }, { ...place, python: named })); // biome-ignore format: one call
    expect(at(venv)).toMatchObject({ message: `python: ${venv} is a folder`, hint: expect.stringContaining(python) });
    expect(at('/opt/none/bin/python')?.message).toContain('/opt/none/bin/python does not exist');
    const notExecutable = join(dir, 'python');
    writeFileSync(notExecutable, '');
    chmodSync(notExecutable, 0o644);
    expect(at(notExecutable)?.message).toContain('may not be executed');
  });
});
