import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { selfTestLines } from '../../src/cli/bench-self.ts';
import { ceiling } from '../../src/records/ceiling.ts';
import { clientMachineHere } from '../../src/study/kept-ceiling.ts';
import type { PacedPoint } from '../../src/study/paced-streams.ts';
import type { SelfTest } from '../../src/study/self-test.ts';
import { processesMarked, untilNoneMarked } from '../study/marked.ts';
import { folder, main, servetune, start } from './command.ts';

const quick = ['bench', 'self', '--quick', '--max-streams', '2'];

describe('bench self', () => {
  it('prints what this client can do, and keeps it', async () => {
    const cache = folder();
    const { code, stdout, stderr } = await servetune(quick, { env: { SERVETUNE_CACHE: cache } });
    // 3 on a machine that is too busy for its own clock to be trusted.
    expect([code, stderr]).toEqual([expect.toBeOneOf([0, 3]), expect.any(String)]);
    expect(stdout).toMatch(/^1 client thread on .+ cores, Node v/);
    expect(stdout).toMatch(/^answers of 1 token +[\d,]+ requests\/s /m);
    expect(stdout).toMatch(/^answers of 200 tokens +[\d,]+ tokens\/s /m);
    expect(stdout).toMatch(/^the same, 16 a write +[\d,]+ tokens\/s /m);
    expect(stdout).toMatch(/^2 streams +-?[\d.]+ ms /m);
    expect(stdout).toMatch(/^This client reads (up to|at least) [\d,]+ tokens\/s on this machine; /m);
    const path = join(cache, 'client-ceiling.json');
    expect(existsSync(path)).toBe(code === 0);
    if (code !== 0) return;
    expect(stderr).toContain(`kept in ${path}`);
    const kept = ceiling.parse(JSON.parse(readFileSync(path, 'utf8')));
    expect(kept).toMatchObject({ workers: 1, trueStreams: 2, limitedBy: 'max_streams', machine: clientMachineHere() });
    expect(stdout).toContain('; 2 paced streams read true.\nMore than 2 streams were not tried.');
  });

  it('prints everything as JSON, also where it cannot be kept', async () => {
    const { code, stdout, stderr } = await servetune([...quick, '--json', '--workers', '2'], {
      env: { SERVETUNE_CACHE: '/dev/null/cache' },
    });
    const found = JSON.parse(stdout) as SelfTest;
    expect(ceiling.parse(found.ceiling)).toMatchObject({ workers: 2 });
    expect(found.points[0]).toMatchObject({ streams: 2, loopDelayP99S: expect.any(Number) });
    expect(found.requests).toMatchObject({ requestsPerS: found.ceiling.requestsPerS, clientCores: expect.any(Number) });
    expect(stderr).toContain(code === 0 ? 'warning: the result could not be kept' : 'nothing is kept');
  });

  it('names everything that is wrong with its options', async () => {
    const { code, stderr } = await servetune(['bench', 'self', '--workers', '0', '--max-streams', 'all', '--fast']);
    expect(code).toBe(2);
    for (const flag of ['--workers', '--max-streams', '--fast']) expect(stderr).toContain(flag);
  });

  it('refuses more streams than files may be open', () => {
    const { status, stderr } = spawnSync('sh', ['-c', `ulimit -n 512; exec "$0" "$@"`, process.execPath, main, 'bench', 'self', '--max-streams', '1000'], { encoding: 'utf8' }); // biome-ignore format: a command line
    expect([status, stderr]).toEqual([2, expect.stringContaining('--max-streams: 1000 streams need 1378 open files')]);
    expect(stderr).toContain('ulimit -n 1378');
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 130],
    ['SIGKILL', null],
  ] as const)('leaves nothing running after %s', async (signal, code) => {
    const mark = randomUUID();
    const cache = folder();
    const { child, ended } = start(['bench', 'self'], { env: { SERVETUNE_CACHE: cache, SERVETUNE_TEST_MARK: mark } });
    // The command itself and its server; the watchdog has no environment.
    while (processesMarked(mark).length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill(signal);
    const end = await ended;
    expect([end.code, end.stderr]).toEqual([code, expect.any(String)]);
    if (code !== null) expect(end.stderr).toContain('interrupted');
    expect(end.stdout).toBe('');
    await untilNoneMarked(mark);
    expect(existsSync(join(cache, 'client-ceiling.json'))).toBe(false);
  });
});

describe('what it says', () => {
  const effort = { clientCores: 0.98, serverCores: 0.71, otherCores: 0.1, loopDelayP99S: 0.0012, eventsPerRead: 1.25 };
  const throughput = { ...effort, requestsPerS: 1234.5, eventsPerS: 56_789.1 };
  const point = (streams: number, more: Partial<PacedPoint> = {}): PacedPoint => ({
    ...effort, streams, ttftErrorS: 0.0003, itlErrorS: 0.0005, serverLateP50S: 0.0005, serverLateP99S: 0.0012, verdict: 'true', ...more,
  }); // biome-ignore format: figures
  const found = (points: readonly PacedPoint[], more: Partial<SelfTest['ceiling']> = {}, otherCores = 0.1): SelfTest => ({
    ceiling: {
      at: '2026-08-27T10:15:00.000Z', machine: { cpu: 'CPU', cores: 8, node: 'v20.1.0' }, workers: 1, requestsPerS: 1234.5,
      eventsPerS: 56_789.1, eventsPerSBatched: 99_000, trueStreams: 1024, limitedBy: 'client', busy: false, ...more,
    },
    requests: throughput,
    events: throughput,
    eventsBatched: { ...throughput, eventsPerS: 99_000 },
    points,
    otherCores,
  }); // biome-ignore format: figures
  const said = (...args: Parameters<typeof found>): string => selfTestLines(found(...args)).join('\n');

  it('is a table and who was the limit', () => {
    const text = said([point(1024), point(2048, { ttftErrorS: 0.0072, verdict: 'client_bound' })]);
    expect(text).toContain('1 client thread on CPU, 8 cores, Node v20.1.0');
    expect(text).toMatch(/answers of 1 token +1,235 requests\/s +1\.3 +98 % +71 % +1\.2 ms/);
    expect(text).toMatch(/1,024 streams +0\.3 ms +0\.5 ms +0\.5 ms, 1\.2 ms +98 % +71 % +1\.2 ms +true/);
    expect(text).toContain('This client reads up to 56,789 tokens/s on this machine; 1,024 paced streams read true.');
    expect(text).toContain('At 2,048 streams the client was the limit: times to first token were read 7.2 ms late');
    expect(text).not.toContain('busy');
  });

  it.each([
    [{ serverLateP99S: 0.045 }, 'the server itself was late by 0.5 ms (p50) and 45.0 ms (p99).'],
    [{ failure: '3 of 9 requests failed: ECONNRESET' }, '3 of 9 requests failed: ECONNRESET.'],
    [{ ttftErrorS: 0.02 }, 'while the client was kept from running.'],
  ])('blames the machine: %j', (more, why) => {
    const text = said([point(64, { ...more, verdict: 'host_bound' })], { trueStreams: 0, limitedBy: 'host' });
    expect(text).toContain(
      'not even 64 paced streams read true.\nAt 64 streams the machine, not the client, was the limit: ',
    );
    expect(text).toContain(why);
  });

  it('tells of other programs, and of a search that ended by itself', () => {
    const text = said([point(1)], { trueStreams: 1, limitedBy: 'max_streams', busy: true }, 1.44);
    expect(text).toContain('reads at least 56,789 tokens/s on this machine; 1 paced stream reads true.');
    expect(text).toContain('Measured on a busy machine: other programs used 1.4 of 8 cores');
    expect(text).toMatch(/More than 1 stream was not tried\./);
  });

  it('does not call the client slow where one server process was', () => {
    // 0.98 cores of four threads, while the one of the server used 0.71.
    const text = said([point(64)], { workers: 4 });
    expect(text).toMatch(/^4 client threads/);
    expect(text).toContain('reads at least');
  });
});
