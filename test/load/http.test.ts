import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openaiChat } from '../../src/endpoints/openai-chat.ts';
import { sleep } from '../../src/kit/clock.ts';
import { requestUrl } from '../../src/load/target.ts';
import { atRate, plan, run, runAt } from './loads.ts';
import { done, finish, startReplay, token, tokens } from './replay.ts';

const outcomesOf = (records: readonly { outcome: string }[]): string[] => records.map(({ outcome }) => outcome);

describe('where requests go', () => {
  it.each([
    ['http://h:1', undefined, 'http://h:1/v1/chat/completions'],
    ['http://h:1/', undefined, 'http://h:1/v1/chat/completions'],
    ['https://h/proxy/llm/', undefined, 'https://h/proxy/llm/v1/chat/completions'],
    ['http://h/v1', undefined, 'http://h/v1/chat/completions'],
    ['http://h/api/v1/', undefined, 'http://h/api/v1/chat/completions'],
    ['http://h/v1', '/v1/chat/completions', 'http://h/v1/v1/chat/completions'],
    ['http://h/x?key=1', '/gen?stream=1', 'http://h/x/gen?key=1&stream=1'],
    ['http://[::1]:8000', 'gen', 'http://[::1]:8000/gen'],
  ])('%s with %s', (base, path, wanted) => {
    const target = { baseUrl: new URL(base), endpoint: openaiChat, ...(path === undefined ? {} : { path }) };
    expect(requestUrl(target).href).toBe(wanted);
  });

  it('refuses what is not HTTP', () => {
    expect(() => requestUrl({ baseUrl: new URL('ftp://h/'), endpoint: openaiChat })).toThrow(/http:\/\/ or https:\/\//);
  });
});

it('sends headers and body, also over ones that are sent anyway', async () => {
  await using replay = await startReplay(tokens(2));
  const baseUrl = new URL(replay.baseUrl);
  baseUrl.username = 'me';
  baseUrl.password = 'p%20w';
  const { records } = await runAt(
    { baseUrl, headers: { 'X-Trace': '7', Accept: 'text/event-stream' } },
    plan(1, { ask: { sampling: { temperature: 0.25 }, ignoreEos: true, compat: 'servetune' } }),
  );
  expect(outcomesOf(records)).toEqual(['ok']);
  const [seen] = replay.seen;
  expect(seen?.headers).toMatchObject({
    host: replay.baseUrl.host,
    'x-trace': '7',
    accept: 'text/event-stream',
    'content-type': 'application/json',
    authorization: `Basic ${Buffer.from('me:p w').toString('base64')}`,
  });
  expect(JSON.parse(seen?.body ?? '')).toMatchObject({ model: 'm', temperature: 0.25, stream: true });
});

it.each(['127.0.0.1', '::1'])('finds a server on %s by the name localhost', async (host) => {
  await using replay = await startReplay(tokens(2), { host });
  const baseUrl = new URL(`http://localhost:${replay.baseUrl.port}`);
  const { records } = await runAt({ baseUrl }, plan(3, { maxConcurrency: 3 }));
  expect(outcomesOf(records)).toEqual(['ok', 'ok', 'ok']);
});

it('talks to IPv6 literals', async () => {
  await using replay = await startReplay(tokens(2), { host: '::1' });
  expect(outcomesOf((await run(replay, plan(1))).records)).toEqual(['ok']);
  expect(replay.seen[0]?.headers.host).toBe(replay.baseUrl.host);
});

describe('https', () => {
  const folder = join(import.meta.dirname, '../fixtures/streams');
  const tls = {
    key: readFileSync(join(folder, 'localhost-key.pem'), 'utf8'),
    cert: readFileSync(join(folder, 'localhost-cert.pem'), 'utf8'),
  };

  it('works with a trusted certificate, and keeps connections', async () => {
    await using replay = await startReplay(tokens(3), { tls });
    const baseUrl = new URL(`https://localhost:${replay.baseUrl.port}/gate`);
    const { records, client } = await runAt({ baseUrl, ca: tls.cert }, plan(6, { maxConcurrency: 2 }));
    expect(outcomesOf(records)).toEqual(Array(6).fill('ok'));
    expect(client.socketsOpened).toBeLessThanOrEqual(3);
    expect(replay.seen[0]?.url).toBe('/gate/v1/chat/completions');
  });

  it('refuses a certificate that nobody vouches for', async () => {
    await using replay = await startReplay(tokens(3), { tls });
    const baseUrl = new URL(`https://localhost:${replay.baseUrl.port}`);
    const [record] = (await runAt({ baseUrl }, plan(1))).records;
    expect(record).toMatchObject({ outcome: 'connection_error', error: expect.stringMatching(/certificate/) });
  });
});

it.each([1, 4])('keeps connections, as many as there are requests at once: %i', async (maxConcurrency) => {
  await using replay = await startReplay(tokens(3, 1));
  const { records, client } = await run(replay, plan(24, { maxConcurrency }));
  expect(outcomesOf(records)).toEqual(Array(24).fill('ok'));
  expect(replay.connections).toBe(maxConcurrency);
  expect(client.socketsOpened).toBe(maxConcurrency);
});

/** Answers the first request of a connection, then closes it without a word while the next one is on its way. */
async function startStale(answers: number): Promise<{ baseUrl: URL; requests: () => number; close(): void }> {
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let served = 0;
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      if (!bytes.toString('latin1').includes('POST ')) return;
      requests++;
      if (served++ >= answers) {
        socket.resetAndDestroy();
        return;
      }
      const body = `${token}${finish}${done}`;
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return {
    baseUrl: new URL(`http://127.0.0.1:${port}`),
    requests: () => requests,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe('idle connections that the server closed (case 32)', () => {
  it('are left alone once their end is known', async () => {
    await using replay = await startReplay(tokens(2));
    replay.server.keepAliveTimeout = 100;
    const { records, staleRetries } = await run(replay, plan(4, { arrivals: atRate(4), maxConcurrency: 1 }));
    expect(outcomesOf(records)).toEqual(Array(4).fill('ok'));
    expect(staleRetries).toBeLessThanOrEqual(4);
  });

  it('cost one counted retry when the request was already on its way', async () => {
    const stale = await startStale(1);
    try {
      const { records, staleRetries } = await runAt(stale, plan(4, { maxConcurrency: 1 }));
      expect(outcomesOf(records)).toEqual(Array(4).fill('ok'));
      expect(staleRetries).toBeGreaterThan(0);
      expect(stale.requests()).toBe(4 + staleRetries);
    } finally {
      stale.close();
    }
  });

  it('are tried again once and not for ever', async () => {
    const stale = await startStale(0);
    try {
      const { records, staleRetries } = await runAt(stale, plan(1));
      expect(records[0]?.outcome).toBe('connection_error');
      expect(staleRetries).toBe(1);
      expect(stale.requests()).toBe(2);
    } finally {
      stale.close();
    }
  });
});

it('waits for late headers as long as they take (case 34)', async () => {
  await using replay = await startReplay({ headAfterMs: 1500, ...tokens(2) });
  const [record] = (await run(replay, plan(1))).records;
  expect(record).toMatchObject({ outcome: 'ok' });
  expect((record?.firstTokenS ?? 0) - (record?.sendS ?? 0)).toBeGreaterThan(1.4);
});

it('sends a request that waits too long once, and calls it a timeout (case 35)', async () => {
  await using replay = await startReplay({ headAfterMs: 60_000, steps: [] });
  const { records } = await run(replay, { ...plan(2, { maxConcurrency: 2 }), requestTimeoutS: 0.4 });
  expect(outcomesOf(records)).toEqual(['timeout', 'timeout']);
  expect(records[0]?.error).toContain('0.4 s');
  await sleep(0.1);
  expect(replay.seen).toHaveLength(2);
});

it('fails each request that is turned away, and sends none again (case 39)', async () => {
  const refusal = { status: 503, headers: { 'retry-after': '1', 'content-type': 'application/json' } };
  const body = { steps: [{ afterMs: 0, bytes: '{"error":{"message":"queue full","code":503}}' }] };
  await using replay = await startReplay((n) => (n < 2 ? { ...refusal, ...body } : tokens(2)));
  const { records } = await run(replay, plan(5, { maxConcurrency: 1 }));
  expect(outcomesOf(records)).toEqual(['http_error', 'http_error', 'ok', 'ok', 'ok']);
  expect(records[0]).toMatchObject({ httpStatus: 503, error: 'HTTP 503 Service Unavailable: 503: queue full' });
  expect(replay.seen).toHaveLength(5);
});

it('shows what a refusal says, and where a redirect goes', async () => {
  const scripts = [
    { status: 404, steps: [{ afterMs: 0, bytes: '{"detail":"Not Found"}' }] },
    { status: 500, steps: [{ afterMs: 0, bytes: 'Internal Server Error' }] },
    { status: 307, headers: { location: '/v2/' }, steps: [] },
    { status: 204, steps: [] },
  ];
  await using replay = await startReplay((n) => scripts[n] ?? { steps: [] });
  const { records } = await run(replay, plan(4, { maxConcurrency: 1 }));
  expect(outcomesOf(records)).toEqual(Array(4).fill('http_error'));
  expect(records.map(({ error }) => error)).toEqual([
    'HTTP 404 Not Found: {"detail":"Not Found"}',
    'HTTP 500 Internal Server Error: Internal Server Error',
    'HTTP 307 Temporary Redirect: redirects to /v2/; give that address instead',
    'HTTP 204 No Content',
  ]);
});

it('says that nothing listens', async () => {
  const replay = await startReplay(tokens(1));
  await replay[Symbol.asyncDispose]();
  const { records, ended } = await run(replay, plan(3, { maxConcurrency: 3 }));
  expect(ended).toBe('complete');
  expect(outcomesOf(records)).toEqual(Array(3).fill('connection_error'));
  expect(records[0]?.error).toContain('ECONNREFUSED');
});

it('says that a name does not exist', async () => {
  const [record] = (await runAt({ baseUrl: new URL('http://nowhere.invalid:1') }, plan(1))).records;
  expect(record?.outcome).toBe('connection_error');
  expect(record?.error).toMatch(/ENOTFOUND|EAI_AGAIN/);
});

it('reads the same from one byte at a time (case 14)', async () => {
  const bytes = Buffer.from(`: hello\r\n\r\n${token.replace(' the', ' \u4f60\u{1f600}')}${token}${finish}${done}`);
  const steps = Array.from(bytes, (_, i) => ({ afterMs: i % 16 === 0 ? 1 : 0, bytes: bytes.subarray(i, i + 1) }));
  await using replay = await startReplay({ steps });
  const [record] = (await run(replay, plan(1))).records;
  expect(record).toMatchObject({ outcome: 'ok', outputTokens: 2, malformedEvents: 0, finishReason: 'length' });
});

it('does not wait for a connection that stays open after the end (case 28)', async () => {
  await using replay = await startReplay({
    steps: [
      { afterMs: 5, bytes: `${token}${finish}${done}` },
      { afterMs: 30_000, close: 'end' },
    ],
  });
  const { records, durationS } = await run(replay, plan(6, { maxConcurrency: 2 }));
  expect(outcomesOf(records)).toEqual(Array(6).fill('ok'));
  expect(durationS).toBeLessThan(20);
  expect(replay.seen).toHaveLength(6);
});
