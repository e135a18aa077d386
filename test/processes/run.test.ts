import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, portFrom, portInUse } from '../../src/processes/ports.ts';
import { findProgram } from '../../src/processes/programs.ts';
import { runToEnd } from '../../src/processes/run.ts';
import { expectFreshBuild, fixture, living } from './living.ts';

const dir = mkdtempSync(join(tmpdir(), 'servetune-run-'));
const env = { PATH: process.env.PATH ?? '' };

beforeAll(expectFreshBuild);
afterAll(() => rmSync(dir, { recursive: true }));

const pidsIn = (stdout: string): number[] => (JSON.parse(stdout) as { pids: number[] }).pids;

describe('runToEnd', () => {
  it('returns both streams and the code', async () => {
    const result = await runToEnd(fixture('print.mjs'), { env: { A: 'b' }, timeoutS: 30 });
    expect(result).toEqual({
      code: 0,
      signal: null,
      stdout: '{"A":"b"}\n',
      stderr: 'a word of warning\n',
      timedOut: false,
    });
    const failing = await runToEnd(['sh', '-c', 'exit 9'], { env, timeoutS: 30 });
    expect(failing).toMatchObject({ code: 9, stdout: '', timedOut: false });
  });

  it('keeps no more than asked of a flood, and lets it end', async () => {
    const flood = await runToEnd(fixture('flood.mjs', '5000000'), { env, timeoutS: 30, maxOutputBytes: 1500 });
    expect(flood.code).toBe(3);
    expect(flood.stdout).toHaveLength(1500);
    expect(flood.stderr).toContain('the end');
  });

  it('ends what takes too long, with all its children', async () => {
    const result = await runToEnd(fixture('forking.mjs'), { env, timeoutS: 1.5 });
    expect(result).toMatchObject({ timedOut: true, signal: 'SIGKILL' });
    expect(pidsIn(result.stdout)).toHaveLength(3);
    expect(living(pidsIn(result.stdout))).toEqual([]);
  });

  it('ends what was left behind', async () => {
    const result = await runToEnd(fixture('forking.mjs', 'leave'), { env, timeoutS: 30 });
    expect(result).toMatchObject({ code: 7, timedOut: false });
    expect(living(pidsIn(result.stdout))).toEqual([]);
  });

  it('rejects with the reason of an abort, before and during', async () => {
    const reason = new Error('enough');
    await expect(runToEnd(['sleep', '1000'], { env, timeoutS: 30, signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    const controller = new AbortController();
    const running = runToEnd(['sleep', '1000'], { env, timeoutS: 30, signal: controller.signal });
    setTimeout(() => controller.abort(reason), 300);
    await expect(running).rejects.toBe(reason);
  });

  it('says when there is no such program', async () => {
    await expect(runToEnd(['no-such-engine'], { env, timeoutS: 30 })).rejects.toMatchObject({
      code: 'program_not_found',
    });
  });
});

describe('findProgram', () => {
  it('finds the first executable on PATH, as starting it would', () => {
    const program = join(dir, 'engine');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(dir, 'text'), '', { mode: 0o644 });
    expect(findProgram('engine', `/nowhere:${dir}:/bin`)).toBe(program);
    expect(findProgram('text', dir)).toBeNull();
    expect(findProgram('engine', '/nowhere')).toBeNull();
    expect(findProgram('./engine', '/nowhere', dir)).toBe(program);
    expect(findProgram('sh', undefined)).toMatch(/\/bin\/sh$/);
    expect(findProgram('', dir)).toBeNull();
    expect(findProgram(dir, undefined)).toBeNull();
  });
});

describe('ports', () => {
  const listen = (host: string | undefined, port = 0): Promise<{ port: number; close(): Promise<void> }> =>
    new Promise((done, fail) => {
      const server = createServer((socket) => socket.destroy());
      server.once('error', fail);
      server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
        const address = server.address();
        if (address === null || typeof address === 'string') return fail(new Error('no address'));
        done({ port: address.port, close: () => new Promise((closed) => server.close(() => closed())) });
      });
    });

  it('a free one can be bound, and is not handed out twice', async () => {
    const ports = await Promise.all(Array.from({ length: 20 }, freePort));
    expect(new Set(ports).size).toBe(20);
    const server = await listen('127.0.0.1', ports[0]);
    expect(await portInUse(server.port)).toBe(true);
    await server.close();
    expect(await portInUse(server.port)).toBe(false);
  });

  it.each(['127.0.0.1', '0.0.0.0'])('one that is listened on at %s is in use', async (host) => {
    const server = await listen(host);
    expect(await portInUse(server.port)).toBe(true);
    expect(await portFrom(server.port)).toBeGreaterThan(server.port);
    await server.close();
  });

  it('none is left above the last', async () => {
    await expect(portFrom(65_536)).rejects.toMatchObject({ code: 'no_free_port' });
  });
});
