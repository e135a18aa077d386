import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { docker } from '../../src/hosts/docker.ts';
import type { Command } from '../../src/hosts/host.ts';
import { local } from '../../src/hosts/local.ts';
import { uv } from '../../src/hosts/uv.ts';

const dir = mkdtempSync(join(tmpdir(), 'servetune-shown-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Nothing is installed there, so that whatever is looked up would be missed. */
const nowhere = { PATH: '/nowhere', HOME: join(dir, 'home'), HF_TOKEN: 'hf_planted' };
const serve: Command = {
  argv: ['vllm', 'serve', 'm', '--port', '8000'],
  env: { VLLM_ATTENTION_BACKEND: 'FLASHINFER' },
};
const module: Command = { argv: ['python3', '-m', 'sglang.launch_server'], env: {} };

it('local shows the command as it is, or the programs of the named environment', () => {
  expect(local.shown(serve, { engine: 'vllm' }, nowhere)).toEqual(serve);
  const python = '/opt/v/bin/python3.12';
  expect(local.shown(serve, { engine: 'vllm', python }, nowhere)).toEqual({
    ...serve,
    argv: ['/opt/v/bin/vllm', 'serve', 'm', '--port', '8000'],
  });
  expect(local.shown(module, { engine: 'sglang', python }, nowhere).argv).toEqual([python, ...module.argv.slice(1)]);
  const home = local.shown(module, { engine: 'sglang', python: '~/s/bin/python' }, nowhere).argv[0];
  expect(home).toBe(join(dir, 'home/s/bin/python'));
  const own = { argv: ['npx', 'servetune', 'serve'], env: {} };
  expect(local.shown(own, { engine: 'embedded', python }, nowhere)).toEqual(own);
});

it('uv shows what it is asked to run', () => {
  const place = { engine: 'vllm', version: '0.11.0', packages: ['vllm==0.11.0'] };
  expect(uv.shown(serve, place, nowhere)).toEqual({
    argv: ['uv', 'tool', 'run', '--from', 'vllm==0.11.0', ...serve.argv],
    env: serve.env,
  });
  expect(uv.shown(module, { engine: 'sglang', packages: ['sglang==0.5.5'] }, nowhere).argv).toContain('python');
});

it('docker shows the whole line, without making a folder and without the value of a token', () => {
  const { argv, env } = docker.shown(serve, { engine: 'vllm', image: 'vllm/vllm-openai:v0.11.0', dir }, nowhere);
  expect(argv.slice(0, 4)).toEqual(['docker', 'run', '--rm', '--init']);
  expect(argv.slice(argv.indexOf('--entrypoint'))).toEqual([
    ...['--entrypoint', 'vllm', 'vllm/vllm-openai:v0.11.0', 'serve', 'm', '--port', '8000'],
  ]);
  expect(argv).toContain('VLLM_ATTENTION_BACKEND=FLASHINFER');
  expect(argv).toContain('HF_TOKEN');
  expect(argv.join(' ')).not.toMatch(/planted|cidfile|servetune=/);
  expect(env).toEqual({});
  expect(existsSync(join(dir, 'home'))).toBe(false);
});

it('docker shows the options that it starts with', () => {
  const env = { ...nowhere, PATH: `${join(import.meta.dirname, '../fixtures/hosts')}:${process.env.PATH ?? ''}` };
  const place = { engine: 'vllm', image: 'a/b:1', dir };
  const started = docker.wrap({ argv: serve.argv, env: { ...env, ...serve.env } }, place).argv;
  const shown = docker.shown(serve, place, env).argv;
  expect(started.join(' ')).toContain(shown.slice(shown.indexOf('--gpus'), shown.indexOf('--env')).join(' '));
});
