import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sleep } from '../../src/kit/clock.ts';
import { InputError } from '../../src/kit/errors.ts';
import { failureHints } from '../../src/load/hints.ts';
import { checkOpenFiles, openFileLimit } from '../../src/load/preflight.ts';
import type { LoadProgress } from '../../src/load/runner.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import { atRate, plan, run } from './loads.ts';
import { done, finish, startReplay, token, tokens } from './replay.ts';

const folder = mkdtempSync(join(tmpdir(), 'servetune-load-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const outcomesOf = (records: readonly { outcome: string }[]): string[] => records.map(({ outcome }) => outcome);
const linesOf = (path: string): RequestRecord[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('what is sent', () => {
  it('is each request once, in order, never more at once than allowed', async () => {
    await using replay = await startReplay(tokens(4, 3));
    const result = await run(replay, plan(30, { maxConcurrency: 5 }));
    expect(result).toMatchObject({ ended: 'complete', asked: 30, notSent: 0, staleRetries: 0 });
    expect(result.abandonedReason).toBeUndefined();
    expect(outcomesOf(result.records)).toEqual(Array(30).fill('ok'));
    expect(result.records.map(({ index }) => index).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, i) => i),
    );
    expect(replay.seen.map(({ body }) => JSON.parse(body).messages[0].content).sort()).toEqual(
      Array.from({ length: 30 }, (_, i) => `request ${i}`).sort(),
    );
    expect(replay.most).toBe(5);
    expect(result.client).toMatchObject({ concurrencyAsked: 5, concurrencyReached: 5 });
    expect(result.durationS).toBe(Math.max(...result.records.map(({ endS }) => endS)));
  });

  it('is all in flight at once when all is due at once (case 41)', async () => {
    await using replay = await startReplay(tokens(2, 100, 1000));
    const { records, client } = await run(replay, plan(50, { maxConcurrency: 50 }));
    expect(replay.most).toBe(50);
    expect(client.concurrencyReached).toBe(50);
    const received = replay.seen.map(({ receivedS }) => receivedS);
    expect(Math.max(...received) - Math.min(...received)).toBeLessThan(0.9);
    expect(records).toHaveLength(50);
  });

  it('keeps the schedule of a rate, whatever the answers do', async () => {
    await using replay = await startReplay(tokens(2, 1, 300));
    const { records, durationS } = await run(replay, plan(40, { arrivals: atRate(40) }));
    expect(outcomesOf(records)).toEqual(Array(40).fill('ok'));
    const intended = records.map(({ intendedSendS }) => intendedSendS).sort((a, b) => a - b);
    expect(intended.at(-1)).toBeCloseTo(1, 5);
    expect(durationS).toBeGreaterThan(1.25);
    for (const { sendS, intendedSendS } of records) expect(sendS).toBeGreaterThanOrEqual(intendedSendS);
    // Answers take 0.3 s: only a client that does not wait for them has several under way.
    expect(replay.most).toBeGreaterThan(3);
  });

  it('is due when a place is free, under a limit', async () => {
    await using replay = await startReplay(tokens(2, 50));
    const { records } = await run(replay, plan(4, { maxConcurrency: 1 }));
    const inOrder = [...records].sort((a, b) => a.index - b.index);
    inOrder.slice(1).forEach((record, i) => {
      const before = inOrder[i] as RequestRecord;
      expect(record.intendedSendS).toBeGreaterThanOrEqual(before.endS);
      expect(record.intendedSendS - before.endS).toBeLessThan(1);
    });
  });

  it('goes on until the time has passed', async () => {
    await using replay = await startReplay(tokens(2, 10));
    const result = await run(replay, plan(3, { maxConcurrency: 2, minDurationS: 0.6 }));
    expect(result.ended).toBe('complete');
    expect(result.asked).toBe(result.records.length);
    expect(result.asked).toBeGreaterThan(3);
    expect(result.durationS).toBeGreaterThan(0.6);
    expect(result.ranOut).toBeUndefined();
    for (const { sendS } of result.records) expect(sendS).toBeLessThan(0.9);
    expect(outcomesOf(result.records)).toEqual(Array(result.asked).fill('ok'));
  });

  it('ends before the time when the pool does, and says so', async () => {
    await using replay = await startReplay(tokens(2));
    const result = await run(replay, { ...plan(4), minDurationS: 30, maxConcurrency: 2 });
    expect(result).toMatchObject({ ended: 'complete', asked: 4, notSent: 0 });
    expect(result.ranOut).toMatch(/all 4 prepared requests .* of the 30 s/);
  });

  it('is nothing when nothing was asked for', async () => {
    await using replay = await startReplay(tokens(1));
    const result = await run(replay, plan(0));
    expect(result).toMatchObject({ ended: 'complete', asked: 0, notSent: 0, records: [], durationS: 0 });
    expect(result.client.verdict).toBe('ok');
  });
});

describe('an early end', () => {
  it('cancels what runs and counts what was not sent', async () => {
    await using replay = await startReplay(tokens(100, 50));
    const stop = new AbortController();
    const path = join(folder, 'cancelled.jsonl');
    const running = run(replay, plan(10, { maxConcurrency: 3 }), { signal: stop.signal, recordsPath: path });
    while (replay.seen.length < 3) await sleep(0.01);
    await sleep(0.2);
    stop.abort(new Error('enough'));
    const result = await running;
    expect(result).toMatchObject({ ended: 'cancelled', asked: 10, notSent: 7, abandonedReason: 'cancelled: enough' });
    expect(outcomesOf(result.records)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect(result.records[0]?.tokenTimesS.length).toBeGreaterThan(0);
    expect(linesOf(path)).toEqual(result.records);
    await sleep(0.1);
    expect(replay.seen).toHaveLength(3);
  });

  it('sends nothing when it is over before it begins', async () => {
    await using replay = await startReplay(tokens(1));
    const result = await run(replay, plan(5), { signal: AbortSignal.abort(new Error('no')) });
    expect(result).toMatchObject({ ended: 'cancelled', asked: 5, notSent: 5, records: [] });
    expect(replay.seen).toHaveLength(0);
  });

  it('notices a server that hangs', async () => {
    const hang = {
      steps: [
        { afterMs: 1, bytes: token },
        { afterMs: 1, bytes: token, close: 'hold' as const },
      ],
    };
    await using replay = await startReplay((n) => (n < 2 ? tokens(2) : hang));
    const result = await run(replay, { ...plan(8, { maxConcurrency: 2 }), stallTimeoutS: 0.5 });
    expect(result).toMatchObject({ ended: 'hung', asked: 8, notSent: 4 });
    expect(result.abandonedReason).toBe('no byte from any of 2 open streams for 0.5 s');
    expect(outcomesOf(result.records)).toEqual(['ok', 'ok', 'cancelled', 'cancelled']);
  });

  it('does not take a slow stream, or a comment, for one that hangs', async () => {
    const slow = [token, ': still here\n\n', ': still here\n\n', token, `${finish}${done}`];
    await using replay = await startReplay({ steps: slow.map((bytes) => ({ afterMs: 250, bytes })) });
    const result = await run(replay, { ...plan(2, { maxConcurrency: 2 }), stallTimeoutS: 1.1 });
    expect(result.ended).toBe('complete');
    expect(outcomesOf(result.records)).toEqual(['ok', 'ok']);
  });

  it('keeps the limit on the whole load', async () => {
    await using replay = await startReplay(tokens(1000, 20));
    const result = await run(replay, { ...plan(4, { maxConcurrency: 2 }), loadTimeoutS: 0.5 });
    expect(result).toMatchObject({ ended: 'timed_out', asked: 4, notSent: 2 });
    expect(result.durationS).toBeGreaterThan(0.45);
  });

  it('stops after too many errors, malformed events included (case 30)', async () => {
    const garbage = { steps: [{ afterMs: 1, bytes: `data: {{{\n\n${token}${finish}${done}` }] };
    await using replay = await startReplay((n) => (n % 2 === 0 ? garbage : { status: 500, steps: [] }));
    const result = await run(replay, { ...plan(50, { maxConcurrency: 1 }), maxErrors: 3 });
    expect(result).toMatchObject({ ended: 'cancelled', asked: 50, notSent: 46 });
    expect(result.abandonedReason).toMatch(/stopped after 4 errors; the last: HTTP 500/);
    expect(result.records.map(({ malformedEvents }) => malformedEvents)).toEqual([1, 0, 1, 0]);
  });
});

describe('records on disk', () => {
  it('are the records, one a line, and older ones are gone', async () => {
    const path = join(folder, 'deep', 'records.jsonl');
    await using replay = await startReplay((n) => (n === 1 ? { status: 500, steps: [] } : tokens(3, 1)));
    for (const count of [9, 6]) {
      const { records } = await run(replay, plan(count, { maxConcurrency: 3 }), { recordsPath: path });
      expect(linesOf(path)).toEqual(records);
      expect(records).toHaveLength(count);
    }
  });

  it('are there while the load still runs', async () => {
    const path = join(folder, 'early.jsonl');
    await using replay = await startReplay((n) => (n < 2 ? tokens(2) : tokens(2, 1, 30_000)));
    const stop = new AbortController();
    const running = run(replay, plan(3, { maxConcurrency: 1 }), { signal: stop.signal, recordsPath: path });
    while (replay.seen.length < 3) await sleep(0.01);
    for (let i = 0; i < 200 && linesOf(path).length < 2; i++) await sleep(0.01);
    expect(outcomesOf(linesOf(path))).toEqual(['ok', 'ok']);
    stop.abort();
    await running;
    expect(outcomesOf(linesOf(path))).toEqual(['ok', 'ok', 'cancelled']);
  });

  it.runIf(process.platform === 'linux')('end the load when the disk is full', async () => {
    await using replay = await startReplay((n) => (n < 2 ? tokens(2) : tokens(1000, 100)));
    const load = run(replay, plan(6, { maxConcurrency: 2 }), { recordsPath: '/dev/full' });
    await expect(load).rejects.toMatchObject({ code: 'disk_full', hint: expect.stringContaining('free some space') });
    expect(replay.seen.length).toBeLessThan(6);
  });

  it('refuse a folder that is none', async () => {
    const file = join(folder, 'a-file');
    writeFileSync(file, '');
    await using replay = await startReplay(tokens(2));
    const load = run(replay, plan(1), { recordsPath: join(file, 'records.jsonl') });
    await expect(load).rejects.toMatchObject({ code: 'records_unwritable' });
    expect(replay.seen).toHaveLength(0);
  });
});

it('tells how it goes on', async () => {
  const told: LoadProgress[] = [];
  await using replay = await startReplay((n) => (n === 0 ? { status: 500, steps: [] } : tokens(20, 25)));
  const { records } = await run(replay, plan(7, { maxConcurrency: 3 }), { onProgress: (p) => void told.push(p) });
  const last = told.at(-1);
  expect(told.length).toBeGreaterThan(2);
  expect(last).toMatchObject({ sent: 7, ok: 6, failed: 1, running: 0, total: 7, outputTokens: 120 });
  expect(records.reduce((sum, { outputTokens }) => sum + outputTokens, 0)).toBe(120);
  expect(told.some(({ running, tokensPerS }) => running === 3 && tokensPerS > 0)).toBe(true);
  told.forEach((progress, i) => {
    expect(progress.outputTokens).toBeGreaterThanOrEqual(told[i - 1]?.outputTokens ?? 0);
    expect(progress.sent).toBe(progress.ok + progress.failed + progress.running);
  });
});

it('has no total when it goes by time', async () => {
  const told: LoadProgress[] = [];
  await using replay = await startReplay(tokens(2, 5));
  await run(replay, plan(1, { minDurationS: 0.1, maxConcurrency: 1 }), { onProgress: (p) => void told.push(p) });
  expect(told.at(-1)?.total).toBeNull();
});

it('names everything that is wrong with a plan', async () => {
  await using replay = await startReplay(tokens(1));
  const wrong = { ...plan(2), minRequests: 5, maxConcurrency: 0, arrivals: atRate(0), stallTimeoutS: -1 };
  const error = await run(replay, wrong).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(InputError);
  expect((error as InputError).problems.map(({ place }) => place)).toEqual([
    '--num-prompts',
    '--max-concurrency',
    '--request-rate',
    'stall_timeout_s',
  ]);
});

it('refuses a duration that nothing paces', async () => {
  await using replay = await startReplay(tokens(1));
  await expect(run(replay, plan(1, { minDurationS: 1 }))).rejects.toThrow(/min_duration_s: needs a limit/);
});

describe.runIf(process.platform === 'linux')('too few open files (case 36)', () => {
  it('are read from the process', async () => {
    const child = spawn('sh', ['-c', 'ulimit -n 256; exec sleep 30']);
    try {
      for (let i = 0; i < 500 && openFileLimit(child.pid) !== 256; i++) await sleep(0.02);
      const limit = openFileLimit(child.pid);
      expect(limit).toBe(256);
      expect(() => checkOpenFiles(512, limit)).toThrow(InputError);
      expect(() => checkOpenFiles(512, limit)).toThrow(/512 connections at once need \d+ open files, .* may have 256/);
      expect(() => checkOpenFiles(64, limit)).not.toThrow();
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('are no matter where there is no limit', () => {
    expect(() => checkOpenFiles(1e6, null)).not.toThrow();
    expect(openFileLimit(2 ** 30)).toBeNull();
  });

  it('stop a load before it begins', async () => {
    await using replay = await startReplay(tokens(1));
    const limit = openFileLimit();
    if (limit === null) return;
    await expect(
      run(replay, plan(1, { requests: Array(limit).fill(plan(1).requests[0]), minRequests: limit })),
    ).rejects.toThrow(InputError);
    expect(replay.seen).toHaveLength(0);
  });
});

describe('hints', () => {
  const failed = (more: Partial<RequestRecord>): RequestRecord => ({
    index: 0,
    outcome: 'http_error',
    intendedSendS: 0,
    sendS: 0,
    tokenTimesS: [],
    endS: 1,
    promptTokens: 1,
    outputTokensAsked: 1,
    outputTokens: 0,
    outputTokensBy: 'chunks',
    malformedEvents: 0,
    ...more,
  });

  it('name each remedy once, the most useful first', () => {
    const long = failed({ outcome: 'in_band_error', error: "400: This model's maximum context length is 512 tokens" });
    const hints = failureHints([failed({ httpStatus: 401, error: 'HTTP 401' }), long, long]);
    expect(hints).toHaveLength(2);
    expect(hints[0]).toMatch(/raise the maximum length/);
    expect(hints[1]).toMatch(/Authorization/);
  });

  it('say nothing of successes and of what was cancelled', () => {
    expect(failureHints([failed({ outcome: 'ok' }), failed({ outcome: 'cancelled', error: 'ECONNREFUSED' })])).toEqual(
      [],
    );
  });
});
