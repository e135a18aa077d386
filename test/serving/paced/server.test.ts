import { Agent } from 'node:http';
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { exitCodes } from '../../../src/kit/errors.ts';
import { newRequestReader } from '../../../src/serving/paced/http-request.ts';
import { type PacedServer, startPaced } from '../../../src/serving/paced/server.ts';
import { eventsOf, send, sendAndLeave, sendJson, until } from '../requests.ts';
import { answerTo, deafConnection, dechunked, type Json, requestBytes } from './raw.ts';

const open: PacedServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function paced(options: Parameters<typeof startPaced>[0] = {}) {
  const server = await startPaced(options);
  open.push(server);
  return { server, port: server.port, url: `http://127.0.0.1:${server.port}` };
}

const chat = { model: 'm', messages: [{ role: 'user', content: 'twelve chars' }] };
const withUsage = { stream_options: { include_usage: true } };
const textOf = (events: readonly Json[]): string =>
  events.map((event) => (event.choices as [{ delta: { content: string } }])[0].delta.content).join('');

it('answers a chat in events of one token, with the usage and [DONE] at the end', async () => {
  const { url } = await paced();
  const { status, headers, text } = await send(`${url}/v1/chat/completions`, {
    body: { ...chat, max_completion_tokens: 10, max_tokens: 99, ...withUsage },
  });
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch('text/event-stream');
  const events = eventsOf(text);
  expect(events).toHaveLength(12);
  expect(events.pop()).toBe('[DONE]');
  expect(events.pop()).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 3, completion_tokens: 10, total_tokens: 13 },
  });
  expect(textOf(events)).toBe(' time will show how long each word took time will');
  expect(events.map((event) => event.choices[0].finish_reason)).toEqual([...new Array(9).fill(null), 'length']);
  expect(new Set(events.map((event) => event.object))).toEqual(new Set(['chat.completion.chunk']));
});

it('answers a completion, without the usage where it was not asked for', async () => {
  const { url } = await paced({ model: 'm1' });
  const { text } = await send(`${url}/v1/completions`, { body: { prompt: [1, 2, 3], max_tokens: 2 } });
  const events = eventsOf(text);
  expect(events).toHaveLength(3);
  expect(events[2]).toBe('[DONE]');
  expect(events[0]).toMatchObject({ object: 'text_completion', model: 'm1', choices: [{ text: ' time' }] });
  expect(events[1].choices[0]).toMatchObject({ text: ' will', finish_reason: 'length' });
  const counted = await send(`${url}/v1/completions`, { body: { prompt: [1, 2, 3], max_tokens: 1, ...withUsage } });
  expect(eventsOf(counted.text).at(-2).usage).toEqual({ prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 });
});

it('opens with a role, puts several tokens into an event, and has the length of the options', async () => {
  const { url } = await paced({ role: true, tokensPerEvent: 3, tokens: 7 });
  const { text } = await send(`${url}/v1/chat/completions`, { body: { ...chat, max_tokens: 2, ...withUsage } });
  const events = eventsOf(text).slice(0, -2);
  expect(events.shift().choices[0].delta).toEqual({ role: 'assistant', content: '' });
  expect(events.map((event) => event.choices[0].delta.content)).toEqual([' time will show', ' how long each', ' word']);
  expect(eventsOf(text).at(-2).usage.completion_tokens).toBe(7);
});

it('frames every answer by the letter of chunked encoding, whatever its length and batches', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 9 }),
      fc.boolean(),
      async (tokens, tokensPerEvent, eventsPerWrite, role) => {
        const { server, port } = await paced({ tokensPerEvent, eventsPerWrite, role });
        const body = { ...chat, max_tokens: tokens, ...withUsage };
        const raw = await answerTo(port, requestBytes('/v1/chat/completions', body, ['Connection: close']));
        const { status, sizes, body: text } = dechunked(raw);
        expect(status).toBe(200);
        const events = Math.ceil(tokens / tokensPerEvent);
        expect(sizes).toHaveLength(events + 2 + (role ? 1 : 0));
        const withText = eventsOf(text).slice(role ? 1 : 0, -2);
        expect(textOf(withText).trim().split(' ')).toHaveLength(tokens);
        const stats = server.stats();
        expect(stats).toMatchObject({ tokens, events, writes: Math.ceil(events / eventsPerWrite) });
        expect(stats.gapUs.count).toBe(events - 1);
        await server.close();
      },
    ),
    { numRuns: 25 },
  );
});

it('keeps to its schedule, and sees itself do so', async () => {
  const { server, url } = await paced({ ttftS: 0.2, itlS: 0.03 });
  const startedAtMs = performance.now();
  const streams = Array.from({ length: 20 }, () =>
    send(`${url}/v1/chat/completions`, { body: { ...chat, max_tokens: 11 }, agent: new Agent() }),
  );
  await Promise.all(streams);
  const elapsedMs = performance.now() - startedAtMs;
  // Never before its time, whatever else the machine does; not long after it, on a busy machine.
  expect(elapsedMs).toBeGreaterThanOrEqual(500);
  expect(elapsedMs).toBeLessThan(5000);
  const { ttftUs, gapUs, latenessUs, unreadUs } = server.stats();
  expect(ttftUs.count).toBe(20);
  expect(unreadUs.count).toBe(20);
  expect(gapUs.count).toBe(200);
  expect(latenessUs.count).toBe(220);
  expect(ttftUs.mean).toBeGreaterThanOrEqual(200_000);
  // Lateness does not add up: the mean of the gaps is off by no more than the last event is late, over ten gaps.
  expect(Math.abs((gapUs.mean ?? 0) - 30_000)).toBeLessThanOrEqual((latenessUs.max ?? 0) / 10 + 1);
});

it('goes on by the schedule after a pause, without moving it', async () => {
  const { server, url } = await paced({ itlS: 0.02 });
  const startedAtMs = performance.now();
  const answer = send(`${url}/v1/chat/completions`, { body: { ...chat, max_tokens: 31 } });
  await until(() => server.stats().events >= 2);
  // Blocks the thread of the server, which is this one.
  const untilMs = performance.now() + 300;
  while (performance.now() < untilMs);
  await answer;
  expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(600);
  const { latenessUs, gapUs, writes } = server.stats();
  expect(latenessUs.max).toBeGreaterThan(200_000);
  // The events that were due went at once, each as its own write, and 31 events still took 30 gaps of 20 ms.
  expect(writes).toBe(31);
  expect((gapUs.mean ?? 0) * 30).toBeLessThan(600_000 + (latenessUs.max ?? 0));
  expect(gapUs.p50).toBeLessThanOrEqual(21_000);
});

it('uses a connection again', async () => {
  const { server, url } = await paced();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const replies = [];
  for (const tokens of [1, 2, 30]) {
    replies.push(await send(`${url}/v1/completions`, { body: { prompt: 'a', max_tokens: tokens }, agent }));
  }
  replies.push(await send(`${url}/health`, { agent }));
  expect(new Set(replies.map((reply) => reply.localPort)).size).toBe(1);
  expect(server.stats()).toMatchObject({ requests: { answered: 3, active: 0 }, connections: 1, tokens: 33 });
  agent.destroy();
});

it('reads a body of several megabytes in pieces', async () => {
  const { url } = await paced();
  const prompt = 'word'.repeat(1_500_000);
  const { text } = await send(`${url}/v1/completions`, { body: { prompt, max_tokens: 1, ...withUsage } });
  expect(eventsOf(text).at(-2).usage.prompt_tokens).toBe(1_500_000);
});

it('lists its model, answers health checks, and refuses what it does not have', async () => {
  const { server, url } = await paced({ model: 'm1' });
  expect((await sendJson(`${url}/v1/models`)).json.data).toMatchObject([{ id: 'm1' }]);
  expect(await sendJson(`${url}/health`)).toEqual({ status: 200, json: { status: 'ok' } });
  expect((await sendJson(`${url}/v2/models`)).json.error.code).toBe('not_found');
  expect((await sendJson(`${url}/v1/completions`)).status).toBe(405);
  expect(server.stats().requests.refused).toBe(2);
});

it.each([
  ['JSON that ends early', requestBytes('/v1/completions', '{"prompt": "a"'), 'bad_json'],
  ['JSON that is no object', requestBytes('/v1/completions', '[1]'), 'bad_request'],
  ['a count of tokens that is none', requestBytes('/v1/completions', { max_tokens: 1.5 }), 'bad_request'],
  ['no length', 'POST /v1/completions HTTP/1.1\r\nhost: x\r\n\r\n', 'no_length'],
  ['chunks', 'POST /v1/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 'no_length'],
  ['a length that is none', 'POST /v1/completions HTTP/1.1\r\ncontent-length: -5\r\n\r\n', 'bad_length'],
  ['two lengths', 'POST /v1/completions HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n', 'bad_length'],
  ['a header without a name', 'GET /health HTTP/1.1\r\nnonsense\r\n\r\n', 'bad_header'],
  ['another version', 'GET /health HTTP/1.0\r\n\r\n', 'not_http'],
  ['another protocol', Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1]), 'not_http'],
  ['a line of garbage', 'hello there\r\n', 'not_http'],
  ['a huge head', `GET /health HTTP/1.1\r\nx: ${'y'.repeat(20_000)}`, 'head_too_large'],
  ['two requests at once', 'GET /health HTTP/1.1\r\n\r\nGET /health HTTP/1.1\r\n\r\n', 'pipelined'],
])('answers 400 to %s, and closes', async (_, bytes, code) => {
  const { server, port } = await paced();
  const raw = await answerTo(port, bytes);
  expect(raw.split('\r\n')[0]).toBe('HTTP/1.1 400 Bad Request');
  expect(JSON.parse(raw.slice(raw.indexOf('\r\n\r\n') + 4)).error.code).toBe(code);
  await until(() => server.stats().connections === 0);
  expect(server.stats().requests).toEqual({ answered: 0, active: 0, gone: 0, refused: 1 });
});

it('answers 413 to a body over its limit', async () => {
  const { port } = await paced({ maxBodyBytes: 100 });
  expect(await answerTo(port, 'POST /v1/completions HTTP/1.1\r\ncontent-length: 101\r\n\r\n')).toMatch(
    /^HTTP\/1.1 413 /,
  );
});

it('cuts the connection of a client that sends in the middle of an answer', async () => {
  const { server, port } = await paced({ ttftS: 0.05, itlS: 0.05 });
  const socket = await deafConnection(port, requestBytes('/v1/chat/completions', { ...chat, max_tokens: 100 }));
  const closed = new Promise((resolve) => socket.on('close', resolve));
  await until(() => server.stats().events >= 1);
  socket.write('x');
  socket.resume();
  await closed;
  await until(() => server.stats().requests.gone === 1);
  expect(server.stats().requests).toEqual({ answered: 0, active: 0, gone: 1, refused: 1 });
});

it('forgets a client that goes away in the middle, and serves the others', async () => {
  const { server, url } = await paced({ itlS: 0.01 });
  const leavers = Array.from({ length: 5 }, () =>
    sendAndLeave(`${url}/v1/chat/completions`, { ...chat, max_tokens: 5000 }),
  );
  const [{ text }] = await Promise.all([
    send(`${url}/v1/chat/completions`, { body: { ...chat, max_tokens: 20 } }),
    ...leavers,
  ]);
  expect(eventsOf(text)).toHaveLength(21);
  await until(() => server.stats().requests.gone === 5);
  expect(server.stats().requests).toEqual({ answered: 1, active: 0, gone: 5, refused: 0 });
});

it.each([0, 0.0001])('holds back for a slow reader, and loses nothing (itlS %d)', async (itlS) => {
  const tokens = 60_000;
  const { server, port } = await paced({ itlS });
  const socket = await deafConnection(
    port,
    requestBytes('/v1/chat/completions', { ...chat, max_tokens: tokens, ...withUsage }, ['connection: close']),
  );
  await until(() => server.stats().backpressure > 0);
  expect(server.stats().requests).toMatchObject({ answered: 0, active: 1 });
  let raw = '';
  socket.setEncoding('latin1');
  socket.on('data', (piece) => {
    raw += piece;
  });
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  expect(eventsOf(dechunked(raw).body).at(-2).usage.completion_tokens).toBe(tokens);
  expect(raw.match(/"content":" /g)).toHaveLength(tokens);
  expect(server.stats()).toMatchObject({ tokens, events: tokens, requests: { answered: 1, active: 0 } });
});

it('counts what it did, and starts over when it is told to', async () => {
  const { server, url } = await paced({ itlS: 0.001 });
  const lengths = [1, 5, 17, 40];
  await Promise.all(
    lengths.map((max_tokens) =>
      send(`${url}/v1/chat/completions`, { body: { ...chat, max_tokens }, agent: new Agent() }),
    ),
  );
  const { json } = await sendJson(`${url}/stats`);
  expect(json).toMatchObject({
    requests: { answered: 4, active: 0, gone: 0, refused: 0 },
    tokens: 63,
    events: 63,
    writes: 63,
    backpressure: 0,
    latenessUs: { count: 63 },
    ttftUs: { count: 4 },
    unreadUs: { count: 4 },
    gapUs: { count: 59 },
  });
  expect(json.cpuS).toBeGreaterThan(0);
  expect(json.cpuSPer100kEvents).toBeCloseTo((json.cpuS / 63) * 1e5);
  expect((await send(`${url}/reset`, { method: 'POST' })).status).toBe(200);
  const empty = { count: 0, mean: null, p50: null, p99: null, max: null };
  expect(server.stats()).toMatchObject({
    requests: { answered: 0, refused: 0 },
    tokens: 0,
    writes: 0,
    latenessUs: empty,
    ttftUs: empty,
    unreadUs: empty,
    gapUs: empty,
    cpuSPer100kEvents: null,
  });
});

it('serves a thousand streams at once', async () => {
  const { server, url } = await paced({ ttftS: 0.2, itlS: 0.05, tokens: 10 });
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const replies = await Promise.all(
    Array.from({ length: 1000 }, () => send(`${url}/v1/chat/completions`, { body: chat, agent })),
  );
  expect(replies.every(({ text }) => eventsOf(text).length === 11)).toBe(true);
  expect(server.stats()).toMatchObject({ requests: { answered: 1000, gone: 0, refused: 0 }, events: 10_000 });
});

it('says that a port is in use', async () => {
  const { port } = await paced();
  await expect(startPaced({ port })).rejects.toMatchObject({ code: 'port_in_use', exitCode: exitCodes.badInput });
});

it('reads requests from pieces of any size', () => {
  const bodies = ['', '{"a":1}', 'é'.repeat(300)];
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }), (cuts) => {
      const reader = newRequestReader(10_000);
      for (const body of bodies) {
        const bytes = requestBytes('/v1/completions?x=1', body, ['X-Long: spaced  value']);
        let at = 0;
        let request: ReturnType<typeof reader.push>;
        for (let i = 0; at < bytes.length; i++) {
          const end = at + (cuts[i % cuts.length] as number);
          expect(request).toBeUndefined();
          request = reader.push(bytes.subarray(at, end));
          at = end;
        }
        expect(request).toMatchObject({ method: 'POST', path: '/v1/completions', hasLength: true, close: false });
        expect(request?.body.toString()).toBe(body);
      }
    }),
  );
});
