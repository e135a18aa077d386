import { Agent } from 'node:http';
import { connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type OpenAiServer, startServer } from '../../src/serving/server.ts';
import { eventsOf, type Json, send, sendAndLeave, sendJson, until } from './requests.ts';
import { type Started, scriptedSource } from './scripted-source.ts';

const open: OpenAiServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.stop(0)));
});

async function serve(script: readonly string[] | undefined, maxBodyBytes = 10_000) {
  const server = await startServer({ host: '127.0.0.1', port: 0, maxBodyBytes });
  open.push(server);
  const source = scriptedSource(script);
  server.attach(source);
  return { server, source, url: server.url };
}

const words = ['Hel', 'lo', ' wor', 'ld'];
const ask = { model: 'scripted', prompt: 'abc', max_tokens: 3 };

it('says that it is loading until it has a source', async () => {
  const server = await startServer({ host: '127.0.0.1', port: 0 });
  open.push(server);
  expect(await sendJson(`${server.url}/health`)).toEqual({
    status: 503,
    json: { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
  });
  expect((await sendJson(`${server.url}/v1/completions`, ask)).status).toBe(503);
  server.attach(scriptedSource(words));
  expect(await sendJson(`${server.url}/health`)).toEqual({ status: 200, json: { status: 'ok' } });
});

it('answers a completion whole', async () => {
  const { url, source } = await serve(words);
  const { status, json } = await sendJson(`${url}/v1/completions`, ask);
  expect(status).toBe(200);
  expect(json).toMatchObject({
    object: 'text_completion',
    model: 'scripted',
    choices: [{ index: 0, text: 'Hello wor', finish_reason: 'length' }],
    usage: { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 },
  });
  expect(source.started[0]?.generation).toMatchObject({ maxTokens: 3, ignoreEos: false, temperature: 1, topP: 1 });
});

it('answers a chat whole, with the room that is left as its limit', async () => {
  const { url, source } = await serve(words);
  const { json } = await sendJson(`${url}/v1/chat/completions`, {
    messages: [
      { role: 'system', content: 'be' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'h' },
          { type: 'text', text: 'i' },
        ],
      },
    ],
    temperature: 0,
    seed: 7,
  });
  expect(json).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { role: 'assistant', content: 'Hello world' }, finish_reason: 'stop' }],
  });
  const [started] = source.started;
  expect(String.fromCharCode(...(started?.generation.promptTokens ?? []))).toBe('system:be|user:hi');
  expect(started?.generation).toMatchObject({ maxTokens: 83, temperature: 0, seed: 7 });
});

it('streams a chat: role, one chunk a token, finish, usage, [DONE]', async () => {
  const { url } = await serve(words);
  const { status, headers, text } = await send(`${url}/v1/chat/completions`, {
    body: {
      messages: [{ role: 'user', content: 'hi' }],
      max_completion_tokens: 2,
      stream: true,
      stream_options: { include_usage: true },
    },
  });
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('text/event-stream');
  const events = eventsOf(text);
  const chunks = events.slice(0, -1);
  expect(events.at(-1)).toBe('[DONE]');
  expect(new Set(chunks.map((c) => c.id)).size).toBe(1);
  expect(chunks.every((c) => c.object === 'chat.completion.chunk' && c.model === 'scripted' && c.created > 0)).toBe(
    true,
  );
  expect(chunks.map((c) => c.choices[0])).toEqual([
    { index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null },
    { index: 0, delta: { content: 'Hel' }, logprobs: null, finish_reason: null },
    { index: 0, delta: { content: 'lo' }, logprobs: null, finish_reason: null },
    { index: 0, delta: {}, logprobs: null, finish_reason: 'length' },
    undefined,
  ]);
  expect(chunks.map((c) => c.usage)).toEqual([
    null,
    null,
    null,
    null,
    { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
  ]);
});

it('streams a completion, without usage unless it is asked for', async () => {
  const { url } = await serve(['a"\n', 'é']);
  const { text } = await send(`${url}/v1/completions`, { body: { ...ask, stream: true } });
  const events = eventsOf(text);
  expect(events.slice(0, -1).map((c) => c.choices[0].text)).toEqual(['a"\n', 'é', '']);
  expect(events.at(-2).choices[0].finish_reason).toBe('stop');
  expect(text).not.toContain('usage');
});

it.each([
  [' wor', 'Hello', 3],
  [['xyz', 'lo w'], 'Hel', 3],
  ['o world', 'Hell', 4],
])('stops at %j', async (stop, text, tokens) => {
  const { url, source } = await serve(words);
  const { json } = await sendJson(`${url}/v1/completions`, { ...ask, max_tokens: 50, ignore_eos: true, stop });
  expect(json.choices[0]).toMatchObject({ text, finish_reason: 'stop' });
  expect(json.usage.completion_tokens).toBe(tokens);
  expect(source.started[0]?.cancelled).toBe(true);
});

it('gives out what it held back for a stop string that never came', async () => {
  const { url } = await serve(words);
  const { json } = await sendJson(`${url}/v1/completions`, { ...ask, max_tokens: 9, stop: 'ld!' });
  expect(json.choices[0]).toMatchObject({ text: 'Hello world', finish_reason: 'stop' });
});

it('takes a prompt as token ids, also as a list of one prompt', async () => {
  const { url, source } = await serve(words);
  for (const prompt of [[5, 6, 7], [[5, 6, 7]], ['abc'], 'abc']) {
    expect((await sendJson(`${url}/v1/completions`, { ...ask, prompt })).status).toBe(200);
  }
  expect(source.started.map(({ generation }) => [...generation.promptTokens])).toEqual([
    [5, 6, 7],
    [5, 6, 7],
    [94, 97, 98, 99],
    [94, 97, 98, 99],
  ]);
});

it('tells about itself', async () => {
  const { url } = await serve(words);
  expect((await sendJson(`${url}/v1/models`)).json).toMatchObject({
    object: 'list',
    data: [{ id: 'scripted', object: 'model', max_model_len: 100, meta: { n_vocab: 128, n_ctx_train: 200 } }],
  });
  expect((await sendJson(`${url}/version`)).json).toEqual({ version: 'scripted 1' });
  expect((await sendJson(`${url}/server_info`)).json).toEqual({
    version: 'scripted 1',
    model: 'scripted',
    settings: { threads: '1' },
  });
});

it('tokenizes and detokenizes', async () => {
  const { url } = await serve(words);
  expect((await sendJson(`${url}/tokenize`, { prompt: 'ab' })).json).toEqual({
    tokens: [94, 97, 98],
    count: 3,
    max_model_len: 100,
  });
  expect((await sendJson(`${url}/tokenize`, { prompt: 'ab', add_special_tokens: false })).json.tokens).toEqual([
    97, 98,
  ]);
  expect((await sendJson(`${url}/detokenize`, { tokens: [97, 98] })).json).toEqual({ prompt: 'ab' });
});

it.each([
  ['a body that is no JSON', '/v1/completions', '{"prompt":', 400, 'bad_json', 'not JSON'],
  ['a body that is no object', '/v1/completions', '3', 400, 'bad_request', 'object'],
  ['no prompt', '/v1/completions', { max_tokens: 1 }, 400, 'bad_request', 'prompt: must be one prompt'],
  ['two prompts', '/v1/completions', { prompt: ['a', 'b'] }, 400, 'bad_request', 'prompt: must be one prompt'],
  ['two answers', '/v1/completions', { ...ask, n: 2 }, 400, 'bad_request', 'n: one answer'],
  ['an empty stop string', '/v1/completions', { ...ask, stop: [''] }, 400, 'bad_request', 'stop'],
  ['another model', '/v1/completions', { ...ask, model: 'gpt' }, 404, 'model_not_found', "'gpt'"],
  ['another model', '/tokenize', { prompt: '', model: 'gpt' }, 404, 'model_not_found', "'gpt'"],
  ['an unknown token', '/v1/completions', { ...ask, prompt: [1, 128] }, 400, 'bad_token_id', '128'],
  ['an unknown token', '/detokenize', { tokens: [1, 999] }, 400, 'bad_token_id', '999'],
  ['an empty prompt', '/v1/completions', { ...ask, prompt: [] }, 400, 'empty_prompt', 'no tokens'],
  ['no messages', '/v1/chat/completions', { messages: [] }, 400, 'bad_request', 'messages: '],
  ['an unknown path', '/v1/embeddings', {}, 404, 'not_found', '/v1/embeddings'],
  ['a wrong method', '/metrics', {}, 405, 'method_not_allowed', 'GET'],
])('refuses %s', async (_what, path, body, status, code, message) => {
  const { url, source } = await serve(words);
  const reply = await sendJson(`${url}${path}`, body);
  expect(reply.status).toBe(status);
  expect(reply.json.error).toMatchObject({ type: 'invalid_request_error', code });
  expect(reply.json.error.message).toContain(message);
  expect(source.started).toEqual([]);
});

it('names every problem of a body at once', async () => {
  const { url } = await serve(words);
  const { json } = await sendJson(`${url}/v1/completions`, { prompt: 1, max_tokens: 'x', temperature: -1 });
  for (const place of ['prompt: ', 'max_tokens: ', 'temperature: ']) expect(json.error.message).toContain(place);
});

it('refuses what does not fit the context, with the numbers', async () => {
  const { url } = await serve(words);
  const { status, json } = await sendJson(`${url}/v1/completions`, { ...ask, prompt: 'a'.repeat(80), max_tokens: 30 });
  expect(status).toBe(400);
  expect(json.error.code).toBe('context_length_exceeded');
  for (const number of ['81', '30', '111', '100']) expect(json.error.message).toContain(number);
  const chat = { messages: [{ role: 'user', content: 'a'.repeat(95) }] };
  expect((await sendJson(`${url}/v1/chat/completions`, chat)).status).toBe(400);
});

it.each([true, false])('refuses a body that is too large (length announced: %s)', async (announced) => {
  const { url } = await serve(words, 1000);
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    body: announced
      ? 'x'.repeat(2000)
      : new ReadableStream({
          start(controller) {
            for (let i = 0; i < 4; i++) controller.enqueue(new TextEncoder().encode('x'.repeat(500)));
            controller.close();
          },
        }),
    duplex: 'half',
  } as RequestInit);
  expect(response.status).toBe(413);
  expect(((await response.json()) as Json).error.code).toBe('body_too_large');
});

it('uses one connection again and again, also after streams and refusals', async () => {
  const { url } = await serve(words);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number>();
  for (let i = 0; i < 40; i++) {
    const body = i % 4 === 3 ? { ...ask, n: 2 } : { ...ask, stream: i % 2 === 0 };
    const { localPort, status } = await send(`${url}/v1/completions`, { body, agent });
    expect(status).toBe(i % 4 === 3 ? 400 : 200);
    ports.add(localPort);
  }
  agent.destroy();
  expect(ports.size).toBe(1);
});

it('cancels the generation of a client that goes away', async () => {
  const { url, source } = await serve(undefined);
  const left = sendAndLeave(`${url}/v1/completions`, { ...ask, stream: true });
  await until(() => source.started.length === 1);
  (source.started[0] as Started).sink.token('a');
  await left;
  await until(() => source.started[0]?.cancelled === true);
  expect((await metrics(url)).get('requests_finished_total{reason="cancelled"}')).toBe(1);
  // Tokens that were on their way do no harm.
  (source.started[0] as Started).sink.token('b');
  expect((await metrics(url)).get('generation_tokens_total')).toBe(1);
});

it('reports a failure by status before the first token, in the stream after it', async () => {
  const { url, source } = await serve(undefined);
  const early = send(`${url}/v1/completions`, { body: { ...ask, stream: true } });
  await until(() => source.started.length === 1);
  (source.started[0] as Started).sink.fail('no memory', 503);
  const { status, text } = await early;
  expect(status).toBe(503);
  expect(JSON.parse(text).error).toMatchObject({ message: 'no memory', type: 'server_error' });

  const late = send(`${url}/v1/completions`, { body: { ...ask, stream: true } });
  await until(() => source.started.length === 2);
  (source.started[1] as Started).sink.token('a');
  (source.started[1] as Started).sink.fail('broke');
  const events = eventsOf((await late).text);
  expect(events[0].choices[0].text).toBe('a');
  expect(events[1].error.message).toBe('broke');
  expect(events).toHaveLength(2);
});

async function metrics(url: string): Promise<Map<string, number>> {
  const { text, headers } = await send(`${url}/metrics`);
  expect(headers['content-type']).toMatch(/^text\/plain; version=0.0.4/);
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.replace('servetune:', '').split(' ') as [string, string])
      .map(([name, value]) => [name, Number(value)]),
  );
}

it('counts what it served', async () => {
  const { url } = await serve(words);
  await sendJson(`${url}/v1/completions`, ask);
  await sendJson(`${url}/v1/completions`, { ...ask, max_tokens: 50 });
  await sendJson(`${url}/v1/completions`, { ...ask, n: 2 });
  const counted = await metrics(url);
  expect(Object.fromEntries(counted)).toEqual({
    requests_running: 2,
    requests_waiting: 2,
    prompt_tokens_total: 8,
    generation_tokens_total: 7,
    'requests_finished_total{reason="stop"}': 1,
    'requests_finished_total{reason="length"}': 1,
    'requests_finished_total{reason="cancelled"}': 0,
    'requests_finished_total{reason="error"}': 0,
    steps_total: 3,
    kv_cache_usage_ratio: 0.25,
  });
});

it('names the port that is in use', async () => {
  const { server } = await serve(words);
  const port = Number(new URL(server.url).port);
  await expect(startServer({ host: '127.0.0.1', port })).rejects.toMatchObject({
    code: 'port_in_use',
    exitCode: 2,
    message: expect.stringContaining(String(port)),
    hint: expect.stringContaining('--port'),
  });
  await expect(startServer({ host: '203.0.113.9', port: 0 })).rejects.toMatchObject({
    code: 'cannot_listen',
    exitCode: 2,
  });
});

it('lets running requests finish when it stops, and refuses new ones', async () => {
  const { server, source, url } = await serve(undefined);
  const agent = new Agent({ keepAlive: true });
  await send(`${url}/health`, { agent });
  const running = send(`${url}/v1/completions`, { body: { ...ask, stream: true } });
  await until(() => source.started.length === 1);
  const stopped = server.stop(10);
  await expect(send(`${url}/health`)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  const { sink } = source.started[0] as Started;
  sink.token('a');
  sink.end('length');
  expect(eventsOf((await running).text).at(-1)).toBe('[DONE]');
  await stopped;
  agent.destroy();
});

it('ends the requests that are still running after the grace', async () => {
  const { server, source, url } = await serve(undefined);
  const running = send(`${url}/v1/completions`, { body: { ...ask, stream: true } });
  await until(() => source.started.length === 1);
  (source.started[0] as Started).sink.token('a');
  await server.stop(0.05);
  expect(source.started[0]?.cancelled).toBe(true);
  const events = eventsOf((await running).text);
  expect(events.at(-1).error.message).toContain('stopping');
});

it('cancels every request of a connection that goes, also those that wait behind another', async () => {
  const { url, source } = await serve(undefined);
  const { hostname, port } = new URL(url);
  const body = JSON.stringify({ ...ask, stream: true });
  const request = `POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const socket = connect(Number(port), hostname);
  socket.write(request.repeat(3));
  await until(() => source.started.length === 3);
  socket.destroy();
  await until(() => source.started.every((one) => one.cancelled));
});

it('refuses more messages than could fit, without rendering them', async () => {
  const { url } = await serve(words);
  const messages = Array.from({ length: 101 }, () => ({ role: 'user', content: '' }));
  const { status, json } = await sendJson(`${url}/v1/chat/completions`, { messages });
  expect(status).toBe(400);
  expect(json).toMatchObject({ error: { code: 'context_length_exceeded', param: 'messages' } });
});
