import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { expectFreshBuild } from '../built.ts';
import { atRate, plan, run } from './loads.ts';
import { startReplay, tokens } from './replay.ts';

expectFreshBuild('load', 'lane-worker', 'lane', 'lane-open', 'course', 'record-log', 'http', 'connection', 'response');

const folder = mkdtempSync(join(tmpdir(), 'servetune-workers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const promptsOf = (bodies: readonly { body: string }[]): string[] =>
  bodies.map(({ body }) => JSON.parse(body).messages[0].content);

it.each([2, 3])('sends with %i threads what one thread sends, each request once', async (workers) => {
  await using replay = await startReplay(tokens(4, 3));
  const recordsPath = join(folder, `${workers}.jsonl`);
  const told: number[] = [];
  const result = await run(replay, plan(60, { maxConcurrency: 7, requestIdPrefix: 'r-' }), {
    workers,
    recordsPath,
    onProgress: ({ ok }) => void told.push(ok),
  });
  expect(result).toMatchObject({ ended: 'complete', asked: 60, notSent: 0, staleRetries: 0 });
  const sorted = [...result.records].sort((a, b) => a.index - b.index);
  expect(sorted.map(({ index, outcome }) => [index, outcome])).toEqual(Array.from({ length: 60 }, (_, i) => [i, 'ok']));
  expect(promptsOf(replay.seen).sort()).toEqual(Array.from({ length: 60 }, (_, i) => `request ${i}`).sort());
  expect(replay.most).toBe(7);
  expect(told.at(-1)).toBe(60);
  expect(result.client).toMatchObject({ workers, concurrencyAsked: 7, concurrencyReached: 7, socketsOpened: 7 });
  const lines = readFileSync(recordsPath, 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).index).sort((a, b) => a - b)).toEqual(sorted.map(({ index }) => index));
  for (const { sendS, tokenTimesS, endS } of sorted) {
    expect(sendS).toBeGreaterThanOrEqual(0);
    expect(tokenTimesS).toHaveLength(4);
    expect(endS).toBeGreaterThanOrEqual(tokenTimesS.at(-1) ?? Number.NaN);
  }
});

it('has a burst in flight at once, its connections open beforehand', async () => {
  await using replay = await startReplay(tokens(2, 100, 1500));
  const { client, records } = await run(replay, plan(50), { workers: 2 });
  expect(replay.most).toBe(50);
  expect(client).toMatchObject({ concurrencyReached: 50, socketsOpened: 50 });
  expect(records).toHaveLength(50);
});

it('keeps one schedule over all threads', async () => {
  await using replay = await startReplay(tokens(2, 1));
  const one = await run(replay, plan(60, { arrivals: atRate(60) }));
  const two = await run(replay, plan(60, { arrivals: atRate(60) }), { workers: 2 });
  const intended = (records: typeof one.records) => [...records].sort((a, b) => a.index - b.index).map((r) => r.intendedSendS); // biome-ignore format: one chain
  expect(intended(two.records)).toEqual(intended(one.records));
  for (const { sendS, intendedSendS } of two.records) expect(sendS).toBeGreaterThanOrEqual(intendedSendS);
});

it('drops what is under way on every thread when it is told to', async () => {
  await using replay = await startReplay(tokens(1000, 20));
  const stop = new AbortController();
  const result = await run(replay, plan(100, { maxConcurrency: 10 }), {
    workers: 2,
    signal: stop.signal,
    onProgress: ({ running }) => {
      if (running === 10) stop.abort(new Error('enough'));
    },
  });
  expect(result).toMatchObject({ ended: 'cancelled', abandonedReason: 'cancelled: enough', asked: 100 });
  expect(result.records.map(({ outcome }) => outcome)).toEqual(Array(10).fill('cancelled'));
  expect(result.notSent).toBe(90);
});

it('notices a server that hangs', async () => {
  await using replay = await startReplay(tokens(3, 60_000));
  const result = await run(replay, plan(4, { stallTimeoutS: 0.7 }), { workers: 2 });
  expect(result.ended).toBe('hung');
  expect(result.abandonedReason).toContain('no byte from any of 4 open streams');
});

it('stops after too many errors', async () => {
  await using replay = await startReplay({ status: 500, steps: [] });
  const result = await run(replay, plan(500, { maxConcurrency: 4, maxErrors: 20 }), { workers: 2 });
  expect(result.ended).toBe('cancelled');
  expect(result.abandonedReason).toMatch(/stopped after \d+ errors/);
});

it('has no more threads than requests at once', async () => {
  await using replay = await startReplay(tokens(2, 1));
  const { client } = await run(replay, plan(6, { maxConcurrency: 1 }), { workers: 4 });
  expect(client.workers).toBe(1);
  expect(replay.most).toBe(1);
});
