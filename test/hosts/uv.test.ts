import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Place } from '../../src/hosts/host.ts';
import { installWithUv, uv } from '../../src/hosts/uv.ts';
import { InputError } from '../../src/kit/errors.ts';
import { hostContract } from '../contracts/host.ts';

const dir = mkdtempSync(join(tmpdir(), 'servetune-uv-'));
afterAll(() => rmSync(dir, { recursive: true }));

// Only what uv is asked for is looked at here, so a program of its name that writes that down will do.
writeFileSync(
  join(dir, 'uv'),
  `#!/bin/sh
printf '%s\\n' "$@" > "${dir}/asked"
echo "$UV_EXTRA_INDEX_URL" > "${dir}/index"
[ "$STANDIN_FAILS" = yes ] && { echo "No solution found when resolving tool dependencies" >&2; exit 1; }
exit 0
`,
  { mode: 0o755 },
);
const env = { PATH: `${dir}:${process.env.PATH ?? ''}` };
const place: Place = { engine: 'vllm', version: '0.11.0', packages: ['vllm==0.11.0'] };
const { signal } = new AbortController();

hostContract(uv, env, place);

describe('uv', () => {
  it('runs a program of the version’s own packages', () => {
    const hosted = uv.wrap({ argv: ['vllm', 'serve', 'm', '--port', '8000'], env }, place);
    expect(hosted).toEqual({
      argv: [join(dir, 'uv'), 'tool', 'run', '--from', 'vllm==0.11.0', 'vllm', 'serve', 'm', '--port', '8000'],
      env,
    });
  });

  it('runs a module with the interpreter of that environment, and installs further packages beside the first', () => {
    const packages = ['sglang[all]==0.5.5.post1', 'flashinfer-python==0.5.0'];
    const { argv } = uv.wrap(
      { argv: ['python3', '-m', 'sglang.launch_server'], env },
      { ...place, packages, python: '3.12' },
    );
    expect(argv.slice(3)).toEqual([
      ...['--python', '3.12', '--from', 'sglang[all]==0.5.5.post1', '--with', 'flashinfer-python==0.5.0'],
      ...['python', '-m', 'sglang.launch_server'],
    ]);
  });

  it('refuses a missing uv and a missing version at once, each with its remedy', () => {
    try {
      uv.wrap({ argv: ['vllm'], env: { PATH: '/nowhere' } }, { engine: 'vllm' });
      expect.unreachable();
    } catch (error) {
      expect((error as InputError).problems).toEqual([
        {
          place: 'host uv',
          message: 'uv is not installed, or not on PATH',
          hint: expect.stringContaining('install it'),
        },
        {
          place: 'engines vllm',
          message: 'no version is named, so uv cannot know what to install',
          hint: 'name one: {name: vllm, version: X.Y.Z, host: uv}',
        },
      ]);
    }
  });

  it('refuses an engine that PyPI does not have', () => {
    const attempt = (): unknown => uv.wrap({ argv: ['llama-server'], env }, { engine: 'llama.cpp', version: 'b1' });
    expect(attempt).toThrow(InputError);
    expect(attempt).toThrow('engines llama.cpp: it is not to be had from PyPI');
  });

  it('installs before anything is timed, with the indexes of the environment', async () => {
    await installWithUv(place, { ...env, UV_EXTRA_INDEX_URL: 'https://pypi.nvidia.com' }, signal);
    expect(readFileSync(join(dir, 'asked'), 'utf8')).toBe('tool\nrun\n--from\nvllm==0.11.0\npython\n-c\n\n');
    expect(readFileSync(join(dir, 'index'), 'utf8')).toBe('https://pypi.nvidia.com\n');
  });

  it('tells what uv said when it cannot install', async () => {
    await expect(installWithUv(place, { ...env, STANDIN_FAILS: 'yes' }, signal)).rejects.toMatchObject({
      code: 'install_failed',
      message: expect.stringContaining('uv cannot install vllm==0.11.0: No solution found'),
    });
  });
});
