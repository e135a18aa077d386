import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { local } from '../../src/hosts/local.ts';
import { hosts } from '../../src/hosts/table.ts';
import { hostContract } from '../contracts/host.ts';

const env = { PATH: process.env.PATH ?? '' };
const dir = mkdtempSync(join(tmpdir(), 'servetune-hosts-'));
afterAll(() => rmSync(dir, { recursive: true }));

hostContract(local, env);

it('every host has a name of its own, and local is the default', () => {
  expect(new Set(hosts.map(({ name }) => name)).size).toBe(hosts.length);
  expect(hosts[0]).toBe(local);
});

describe('local', () => {
  it('starts npx servetune as this very program, without npx between', () => {
    const command = { argv: ['npx', 'servetune', 'engine', '--port', '8000'], env: { A: 'b' } };
    expect(local.wrap(command)).toEqual({
      argv: [process.execPath, resolve(import.meta.dirname, '../../bin/servetune.cjs'), 'engine', '--port', '8000'],
      env: { A: 'b' },
    });
  });

  it('finds the program that comes first on the PATH of the command, not on ours', () => {
    writeFileSync(join(dir, 'sh'), '#!/bin/sh\n', { mode: 0o755 });
    const { argv } = local.wrap({ argv: ['sh', '-c', 'true'], env: { PATH: `${dir}:${env.PATH}` } });
    expect(argv).toEqual([join(dir, 'sh'), '-c', 'true']);
    expect(() => local.wrap({ argv: ['sh'], env: { PATH: '/nowhere' } })).toThrow(
      'sh is not installed, or not on PATH',
    );
  });

  it('names a path that is wrong', () => {
    expect(() => local.wrap({ argv: ['/opt/none/vllm'], env })).toThrow('/opt/none/vllm does not exist');
  });
});
