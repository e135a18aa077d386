import { createHook } from 'node:async_hooks';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { now, sleep } from '../../src/kit/clock.ts';
import { openHttp } from '../../src/load/http.ts';
import { summarize } from '../../src/metrics/summary.ts';
import { loadInChild } from './child.ts';
import { atRate, plan, run, runAt } from './loads.ts';
import { done, finish, startReplay, token, tokens } from './replay.ts';

/** What can go wrong on this side of the wire. */

const outcomesOf = (records: readonly { outcome: string }[]): string[] => records.map(({ outcome }) => outcome);
const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

/** Sends each request this many seconds after the one before it. */
const every = (gapS: number, count: number) => {
  const load = plan(count);
  return { ...load, requests: load.requests.map((spec) => ({ ...spec, dueS: spec.index * gapS })) };
};

/** A server that answers when `together` requests wait, all in the same instant; fewer when no more have come for a while. */
async function startTogether(together: number, restAfterS = Number.POSITIVE_INFINITY) {
  const waiting: (() => void)[] = [];
  let heardAt = now();
  const flush = (): void => {
    for (const answer of waiting.splice(0)) answer();
  };
  const server = createHttpServer((request, response) => {
    request.resume();
    heardAt = now();
    waiting.push(() => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${token}${finish}${done}`);
    });
    if (waiting.length === together) flush();
  });
  const rest = setInterval(() => {
    if (now() - heardAt > restAfterS) flush();
  }, 200);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1024, resolve));
  return {
    baseUrl: new URL(`http://127.0.0.1:${portOf(server)}`),
    async [Symbol.asyncDispose]() {
      clearInterval(rest);
      server.closeAllConnections();
      server.close();
    },
  };
}

describe('a server that closes idle connections (case 32)', () => {
  const end = (socket: Socket): void => void socket.end();
  const reset = (socket: Socket): void => void socket.resetAndDestroy();
  it.each([
    ['with a word of parting, before the next request', 1000, 1.1, 3, end],
    ['with a word of parting, at the very moment of the next request', 40, 0.04, 40, end],
    ['without one, before the next request', 1000, 1.1, 3, reset],
    ['without one, at the very moment of the next request', 40, 0.04, 40, reset],
  ])('is not blamed for it: %s', async (_, idleMs, gapS, count, close) => {
    let requests = 0;
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        if (!bytes.toString('latin1').includes('POST ')) return;
        requests++;
        const body = `${token}${finish}${done}`;
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
        setTimeout(close, idleMs, socket);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const baseUrl = new URL(`http://127.0.0.1:${portOf(server)}`);
      const { records, staleRetries } = await runAt({ baseUrl }, every(gapS, count));
      expect(outcomesOf(records)).toEqual(Array(count).fill('ok'));
      expect(requests).toBeGreaterThanOrEqual(count);
      expect(requests).toBeLessThanOrEqual(count + staleRetries);
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });
});

it('has no clock running while it waits for the head of an answer (case 34)', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const timers = new Set<NodeJS.Timeout>();
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'Timeout') timers.add(resource as NodeJS.Timeout);
    },
  });
  const url = new URL(`http://127.0.0.1:${portOf(server)}/v1/chat/completions`);
  const { signal } = new AbortController();
  try {
    // With a connection that was opened before and with one that is opened now.
    for (const preconnect of [1, 0]) {
      timers.clear();
      hook.enable();
      const transport = await openHttp({ url, headers: {}, preconnect, signal });
      let over = false;
      const end = (): void => {
        over = true;
      };
      transport.send(Buffer.from('{}'), { head: end, bytes: () => true, end, broken: end, released: () => {} });
      await sleep(0.3);
      hook.disable();
      // Any limit would need one, however long it is.
      const running = [...timers].filter((timer) => (timer as unknown as { _destroyed: boolean })._destroyed === false);
      expect([over, running]).toEqual([false, []]);
      transport.close();
    }
    expect(sockets.size).toBeGreaterThan(0);
  } finally {
    hook.disable();
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

describe('a server with one place, silent while others wait (case 35)', () => {
  /** Answers one request after the other, each after 0.3 s; until then not even a head. */
  async function startSingle() {
    let posts = 0;
    let free: Promise<unknown> = Promise.resolve();
    const server = createHttpServer((request, response) => {
      posts++;
      request.resume();
      free = free
        .then(() => sleep(0.3))
        .then(() => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.end(`${token}${finish}${done}`);
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      baseUrl: new URL(`http://127.0.0.1:${portOf(server)}`),
      posts: () => posts,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        server.close();
      },
    };
  }

  it('shows its queue in the time to the first token', async () => {
    await using single = await startSingle();
    const { records } = await runAt(single, plan(4, { maxConcurrency: 4 }));
    const { latencies } = summarize(records, { asked: 4, percentiles: [] });
    expect(latencies.ttft?.max).toBeGreaterThan(1.15);
    expect(latencies.ttft?.min).toBeLessThan(0.9);
    expect(latencies.first_event?.max).toEqual(latencies.ttft?.max);
    expect(single.posts()).toBe(4);
  });

  it('is sent each request once, also when it takes longer than a request may', async () => {
    await using single = await startSingle();
    const { records, staleRetries } = await runAt(single, {
      ...plan(4, { maxConcurrency: 4 }),
      requestTimeoutS: 0.75,
    });
    const outcomes = outcomesOf(records);
    expect(outcomes.filter((outcome) => outcome === 'timeout').length).toBeGreaterThanOrEqual(2);
    expect(new Set(outcomes).size).toBeLessThanOrEqual(2);
    await sleep(0.5);
    expect(single.posts()).toBe(4);
    expect(staleRetries).toBe(0);
  });
});

describe('too few open files (case 36)', () => {
  const before = 'ulimit -n 96';

  it('stop a load before it begins, with the number that is needed', async () => {
    await using replay = await startReplay(tokens(1));
    const load = loadInChild({ baseUrl: replay.baseUrl, count: 300, maxConcurrency: 200 }, { before });
    await expect(load).rejects.toThrow(/200 connections at once need \d+ open files, and this process may have 96/);
    expect(replay.seen).toHaveLength(0);
  });

  it('are the client’s fault where nothing told how many there would be', async () => {
    await using replay = await startReplay(tokens(2, 0, 1500));
    const load = { baseUrl: replay.baseUrl, count: 200, maxConcurrency: null, requestRate: 400 };
    const { client, summary, hints } = await loadInChild(load, { before });
    expect(summary.outcomes.connection_error).toBeGreaterThan(50);
    expect(summary.errors[0]?.text).toMatch(/EMFILE/);
    expect(client.verdict).toBe('client_bound');
    expect(client.reason).toMatch(/requests failed on this side: .*EMFILE/);
    expect(hints[0]).toMatch(/raise "ulimit -n"/);
  });
});

it('sends long prompts as fast as they can be taken, or says that it cannot (case 38)', async () => {
  const promptBytes = 200_000;
  await using replay = await startReplay(tokens(2));
  const load = { baseUrl: replay.baseUrl, count: 64, promptBytes, maxConcurrency: 32 };
  const { client, summary } = await loadInChild(load);
  expect(summary).toMatchObject({ ok: 64, failed: 0 });
  const lengths = replay.seen.map(({ body }) => JSON.parse(body).messages[0].content.length);
  expect(lengths).toEqual(Array(64).fill(promptBytes));
  expect(client.concurrencyReached).toBe(32);
  // 13 MB, which loopback takes in a few hundredths of a second: what lasts much longer is not the server's.
  if (client.verdict === 'ok') expect(summary.durationS).toBeLessThan(2);
  else expect(client.reason).toMatch(/late|busy/);
});

describe('a server that turns requests away (case 39)', () => {
  it.each([429, 503])('for ever has as many failures as there were requests: %i', async (status) => {
    const refusal = { status, headers: { 'retry-after': '1' }, steps: [{ afterMs: 0, bytes: 'queue full' }] };
    await using replay = await startReplay(refusal);
    const { records, durationS, staleRetries } = await run(replay, plan(20, { maxConcurrency: 4 }));
    const summary = summarize(records, { asked: 20, percentiles: [] });
    expect(summary).toMatchObject({ ok: 0, failed: 20, outcomes: { http_error: 20 } });
    expect(replay.seen).toHaveLength(20);
    expect(staleRetries).toBe(0);
    // Nobody waits the second that the server asks for: five rounds of it would be five seconds.
    expect(durationS).toBeLessThan(4);
  });
});

describe('a burst (case 41)', () => {
  it.each([50, 101, 300])('of %i is all in flight at once', async (count) => {
    // Nobody gets an answer before all have asked.
    await using server = await startTogether(count);
    const { records, client } = await runAt(server, {
      ...plan(count, { maxConcurrency: count }),
      requestTimeoutS: 20,
    });
    expect(outcomesOf(records)).toEqual(Array(count).fill('ok'));
    expect(client.concurrencyReached).toBe(count);
  });

  it('goes out within a few milliseconds', { retry: 5 }, async () => {
    await using replay = await startReplay(tokens(2, 0, 1000));
    const { records, client } = await run(replay, plan(50, { maxConcurrency: 50 }));
    const sent = records.map(({ sendS }) => sendS).sort((a, b) => a - b);
    expect(sent[25]).toBeLessThan(0.02);
    expect(sent.at(-1)).toBeLessThan(0.06);
    expect(client.sendLagMaxS).toBeLessThan(0.06);
    const received = replay.seen.map(({ receivedS }) => receivedS);
    expect(Math.max(...received) - Math.min(...received)).toBeLessThan(0.3);
  });

  it('is followed by another as soon as places are free', { retry: 5 }, async () => {
    await using replay = await startReplay(tokens(2, 0, 200));
    const { records } = await run(replay, plan(100, { maxConcurrency: 50 }));
    const second = [...records].sort((a, b) => a.sendS - b.sendS).slice(50);
    for (const { sendS, intendedSendS } of second) expect(sendS - intendedSendS).toBeLessThan(0.06);
    expect(replay.most).toBe(50);
  });
});

describe('a rate (case 42)', () => {
  it('is kept whatever the server does with it: 64 answers at the same instant', { retry: 2 }, async () => {
    const [rate, count, together] = [200, 2000, 64];
    await using server = await startTogether(together, 1.5);
    const { records, client } = await runAt(server, plan(count, { arrivals: atRate(rate), maxConcurrency: together }));
    expect(outcomesOf(records)).toEqual(Array(count).fill('ok'));
    const sent = records.map(({ sendS }) => sendS).sort((a, b) => a - b);
    expect(Math.abs(count / (sent.at(-1) as number) / rate - 1)).toBeLessThan(0.01);
    // Poisson: a second has 200, and seldom more than five standard deviations above.
    const seconds = Array.from({ length: 11 }, (_, s) => sent.filter((at) => Math.floor(at) === s).length);
    expect(Math.max(...seconds)).toBeLessThan(rate + 5 * Math.sqrt(rate));
    const lags = records.map(({ sendS, intendedSendS }) => sendS - intendedSendS);
    expect(client.sendLagMaxS).toBeCloseTo(Math.max(...lags), 5);
    expect(client.sendLagP50S).toBeLessThan(0.01);
  });

  it('is caught up with after a delay, which is reported', { retry: 2 }, async () => {
    await using replay = await startReplay(tokens(2));
    const standStill = setTimeout(() => {
      const until = now() + 0.4;
      while (now() < until);
    }, 800);
    const { records, client } = await run(replay, plan(400, { arrivals: { ...atRate(200), burstiness: 1e9 } }));
    clearTimeout(standStill);
    const last = Math.max(...records.map(({ sendS }) => sendS));
    expect(Math.abs(400 / last / 200 - 1)).toBeLessThan(0.01);
    expect(client.sendLagMaxS).toBeGreaterThan(0.35);
    expect(client.sendLagP99S).toBeGreaterThan(0.3);
    expect(client.sendLagP50S).toBeLessThan(0.02);
    expect(client).toMatchObject({
      verdict: 'client_bound',
      reason: expect.stringMatching(/requests went out \d+ ms late/),
    });
  });
});

it('says that it had too little of a CPU (case 43)', async () => {
  await using replay = await startReplay(tokens(40, 20, 50));
  const load = { baseUrl: replay.baseUrl, count: 64, maxConcurrency: 64 };
  // As a quota of 10 ms in each 100 ms does it.
  const throttled = await loadInChild(load, {
    during(pid) {
      const stopAndGo = setInterval(() => {
        // Its start is no part of the load.
        if (replay.connections === 0) return;
        process.kill(pid, 'SIGSTOP');
        setTimeout(() => process.kill(pid, 'SIGCONT'), 90);
      }, 100);
      return () => clearInterval(stopAndGo);
    },
  });
  const { client, summary } = throttled;
  expect(summary.ok).toBe(64);
  expect(client.loopDelayP99S).toBeGreaterThan(0.06);
  expect(client.loopDelayMaxS).toBeGreaterThan(0.07);
  expect(client.verdict).toBe('client_bound');
  expect(client.reason).toMatch(/the load client was (late|busy)|requests went out \d+ ms late/);
});
