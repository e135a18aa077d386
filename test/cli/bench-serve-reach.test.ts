import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/processes/ports.ts';
import { compatModes } from '../../src/records/compat.ts';
import { bench, figure, invalid, savedIn, trouble } from './bench-runs.ts';
import { cacheDir, folder, main } from './command.ts';
import { asked, bodies, calls, json, openAiServer, refusal } from './openai-server.ts';

const vllmModes = compatModes.filter((mode) => mode !== 'servetune');
const withLimit = (max_model_len: number) => [{ id: 'tiny-qwen3', max_model_len }];

describe('requests that do not fit the server', () => {
  it.each([
    ['fit to the token', 26, [], 0],
    ['are one token too long', 25, [], 6],
    ['are drawn too long', 30, ['--random-range-ratio', '0.5', '--seed', '3'], 'some'],
  ] as const)('%s', async (_, limit, flags, over) => {
    await using server = await openAiServer({ models: withLimit(limit) });
    const ended = await bench(server, flags);
    if (over === 0) return expect([trouble(ended), asked(server).length]).toEqual([[], 6]);
    expect([ended.code, asked(server).length]).toEqual([2, 0]);
    const [, many, most] = /(\d) of 6 requests need more than the \d+ tokens .* up to (\d+) with the answer/.exec(ended.stderr) ?? []; // biome-ignore format: one pattern
    if (over === 'some') expect(Number(many)).toBeGreaterThan(0);
    else expect([Number(many), Number(most)]).toEqual([over, 26]);
    return expect(ended.stderr).toContain(`by ${Number(most) - limit} tokens, or start the server with a maximum length of ${most}`); // biome-ignore format: one sentence
  });

  const counting = (limit: number) =>
    openAiServer({
      models: withLimit(limit),
      instead: ({ url }, { messages }) => (url === '/tokenize' ? json({ count: messages ? 8 : 1 }) : undefined),
    });

  it('are found with what the server’s chat template adds', async () => {
    await using exact = await counting(33);
    expect(trouble(await bench(exact, ['--backend', 'openai-chat']))).toEqual([]);
    await using short = await counting(32);
    const { code, stderr } = await bench(short, ['--backend', 'openai-chat']);
    expect(code).toBe(2);
    expect(stderr).toContain('up to 33 with the answer, 7 of them the chat template’s');
    expect(asked(short)).toEqual([]);
  });

  it('say when the template could not be counted', async () => {
    await using server = await openAiServer({ models: withLimit(25) });
    const { code, stderr } = await bench(server, ['--backend', 'openai-chat']);
    expect(code).toBe(2);
    expect(stderr).toContain('up to 26 with the answer, the chat template not counted');
  });

  it('are judged by the prompt alone where nothing is generated', async () => {
    await using server = await openAiServer({ models: withLimit(20) });
    expect(trouble(await bench(server, ['--backend', 'openai-embeddings']))).toEqual([]);
  });

  it.each(vllmModes)('are sent all the same with %s, with a warning', async (mode) => {
    await using server = await openAiServer({ models: withLimit(25) });
    const ended = await bench(server, ['--compat', mode, '--ready-check-timeout-sec', '0']);
    expect(trouble(ended)).toEqual([]);
    expect(ended.stderr).toContain('warning: 6 of 6 requests need more than the 25 tokens');
    expect(asked(server)).toHaveLength(6);
  });
});

describe('the model', () => {
  it('is unknown: says which are served, and sends nothing', async () => {
    await using server = await openAiServer({ models: [{ id: 'a' }, { id: 'b' }] });
    const { code, stderr } = await bench(server, ['--model', 'c']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/does not serve “c”\s+it serves: a, b/);
    expect(asked(server)).toEqual([]);
  });

  it('is served under another name than its root', async () => {
    await using server = await openAiServer({ models: [{ id: 'chat', root: 'tiny-qwen3' }] });
    const dir = folder();
    const ended = await bench(server, ['--model', 'tiny-qwen3', '--save-result', '--result-dir', dir]);
    expect(trouble(ended)).toEqual([]);
    expect(ended.stderr).toContain('model tiny-qwen3 is served under the name chat');
    // Its own tokenizer lies here under its own name.
    expect(ended.stderr).not.toContain('approximate');
    expect(bodies(server).map(({ model }) => model)).toEqual(Array(6).fill('chat'));
    expect(savedIn(dir).saved).toMatchObject({ model_id: 'tiny-qwen3', tokenizer_id: 'tiny-qwen3' });
  });

  it('is the first that the server names; its root names the result, as in vLLM', async () => {
    await using server = await openAiServer({ models: [{ id: 'chat', root: 'org/tiny' }, { id: 'other' }] });
    const dir = folder();
    const ended = await bench(server, ['--save-result', '--result-dir', dir]);
    expect(trouble(ended)).toEqual([]);
    expect(bodies(server)[0]?.model).toBe('chat');
    const { name, saved } = savedIn(dir);
    expect(name).toMatch(/-tiny-\d/);
    expect(saved).toMatchObject({ model_id: 'org/tiny', tokenizer_id: 'org/tiny' });
    // Lengths are approximate then, and the file says so.
    expect(JSON.stringify(saved.servetune)).toContain('approximate');
  });

  it('is sent under --served-model-name, while --model names the result', async () => {
    await using server = await openAiServer({ models: [{ id: 'chat' }] });
    const dir = folder();
    const flags = ['--model', 'tiny-qwen3', '--served-model-name', 'chat', '--save-result', '--result-dir', dir];
    expect(trouble(await bench(server, flags))).toEqual([]);
    expect(bodies(server)[0]?.model).toBe('chat');
    expect(savedIn(dir).saved).toMatchObject({ model_id: 'tiny-qwen3', tokenizer_id: 'tiny-qwen3' });
  });

  it('has to be named where the server has no list, and is taken at its word then', async () => {
    await using server = await openAiServer({ models: null });
    const unnamed = await bench(server);
    expect(unnamed.code).toBe(2);
    expect(unnamed.stderr).toMatch(/--model: .*\/v1\/models names no model/);
    expect(trouble(await bench(server, ['--model', 'tiny-qwen3']))).toEqual([]);
    expect(bodies(server)[0]?.model).toBe('tiny-qwen3');
  });
});

describe('a key', () => {
  const guarded = (wanted: string) =>
    openAiServer({
      instead: ({ headers }) => (headers.authorization === wanted ? undefined : refusal(401, 'Unauthorized')),
    });

  it('is missing: says where it goes', async () => {
    await using server = await guarded('Bearer sesame');
    for (const mode of compatModes) {
      const { code, stderr } = await bench(server, ['--compat', mode], { env: { OPENAI_API_KEY: '' } });
      expect(code).toBe(2);
      expect(stderr).toMatch(/answers 401: .*Unauthorized[\s\S]*OPENAI_API_KEY/);
    }
  });

  it.each([
    ['from the environment', 'Bearer sesame', [], 'sesame'],
    ['from --header, which goes before it', 'Bearer open', ['--header', 'Authorization=Bearer open'], 'sesame'],
  ])('%s reaches the server', async (_, wanted, flags, OPENAI_API_KEY) => {
    await using server = await guarded(wanted);
    expect(trouble(await bench(server, flags, { env: { OPENAI_API_KEY } }))).toEqual([]);
  });

  it('in the URL reaches the server, and is never shown', async () => {
    await using server = await guarded(`Basic ${Buffer.from('me:ses@me').toString('base64')}`);
    const url = server.baseUrl.href.replace('//', '//me:ses%40me@');
    const ended = await bench(server, ['--base-url', url]);
    expect(trouble(ended)).toEqual([]);
    await server[Symbol.asyncDispose]();
    const gone = await bench(server, ['--base-url', url]);
    expect(gone.code).toBe(2);
    expect(`${ended.stderr}${gone.stderr}`).not.toContain('ses');
  });
});

describe('what is there instead of a server', () => {
  it('is nothing: ends with 2, and with 1 as vLLM does', async () => {
    const nowhere = { baseUrl: new URL(`http://127.0.0.1:${await freePort()}`) };
    for (const mode of compatModes) {
      const { code, stderr } = await bench(nowhere, ['--compat', mode, '--ready-check-timeout-sec', '0']);
      expect([mode, code]).toEqual([mode, mode === 'servetune' ? 2 : 1]);
      expect(stderr).toMatch(/no server answers at .*ECONNREFUSED/);
    }
  });

  it('does not speak HTTP', async () => {
    const other = createServer((socket) => socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.7\r\n'));
    await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening));
    const { port } = other.address() as { port: number };
    const server = { baseUrl: new URL(`http://127.0.0.1:${port}`) };
    // Waiting would not mend it.
    const { code, stderr } = await bench(server, ['--ready-check-timeout-sec', '60']);
    other.close();
    expect(code).toBe(2);
    expect(stderr).toContain('does not speak HTTP');
    expect(stderr).not.toContain('fault of servetune');
  });

  it('is a proxy before a server that is loading', async () => {
    await using server = await openAiServer({ instead: () => refusal(503, 'loading') });
    const { code, stderr } = await bench(server);
    expect(code).toBe(2);
    expect(stderr).toMatch(/answers 503: .*loading[\s\S]*not up yet/);
  });

  it('speaks TLS with a certificate that nobody vouches for', async () => {
    const read = (name: string) => readFileSync(join(import.meta.dirname, '../fixtures/streams', name), 'utf8');
    const tls = { key: read('localhost-key.pem'), cert: read('localhost-cert.pem') };
    await using server = await openAiServer({ tls });
    const strict = await bench(server);
    expect(strict.code).toBe(2);
    expect(strict.stderr).toMatch(/certificate[\s\S]*NODE_EXTRA_CA_CERTS.*--insecure/);
    expect(trouble(await bench(server, ['--insecure']))).toEqual([]);
    expect(asked(server)).toHaveLength(6);
    const plain = await bench(server, ['--base-url', server.baseUrl.href.replace('https', 'http')]);
    expect(plain.code).toBe(2);
    await using other = await openAiServer();
    const mistaken = await bench(other, ['--base-url', other.baseUrl.href.replace('http', 'https')]);
    expect([mistaken.code, mistaken.stderr]).toEqual([2, expect.stringContaining('begin the address with http://')]);
  });
});

describe('a server that refuses what it does not know', () => {
  it.each([
    ['ignore_eos', '--no-ignore-eos', ['--no-ignore-eos']],
    ['stream_options', `--extra-body '{"stream_options": null}'`, ['--extra-body', '{"stream_options": null}']],
  ])('%s: ends with 3, its words and the flag that mends it', async (key, hint, mended) => {
    await using server = await openAiServer({
      usage: key !== 'stream_options',
      instead: (_, body) => (body[key] ? refusal(400, `Unrecognized field: ${key}`) : undefined),
    });
    const { code, stderr } = await bench(server);
    expect(code).toBe(3);
    expect(stderr).toContain(`6 x HTTP 400 Bad Request: Unrecognized field: ${key}`);
    expect(stderr).toContain(hint);
    const again = await bench(server, mended);
    expect(invalid(again.stderr)).toEqual([]);
    expect(figure(again.stdout, 'Successful requests:')).toBe('6');
  });
});

describe('the address', () => {
  it.each([
    ['with a path', '/api', '/api/v1/completions'],
    ['with a path that ends in a slash', '/api/', '/api/v1/completions'],
    ['that ends in /v1', '/v1', '/v1/completions'],
    ['with a query', '/api?key=k', '/api/v1/completions?key=k'],
  ])('%s', async (_, path, wanted) => {
    await using server = await openAiServer();
    expect(trouble(await bench(server, ['--base-url', new URL(path, server.baseUrl).href]))).toEqual([]);
    expect(calls(server, wanted)).toBe(6);
    expect(calls(server, wanted.replace('completions', 'models'))).toBe(1);
  });

  it('of IPv6', async () => {
    await using server = await openAiServer({ host: '::1' });
    expect(trouble(await bench(server))).toEqual([]);
    expect(trouble(await bench(server, ['--host', '::1', '--port', server.baseUrl.port]))).toEqual([]);
    expect(asked(server)).toHaveLength(12);
  });
});

describe('a limit on open files', () => {
  const limited = (...flags: string[]) =>
    spawnSync('sh', ['-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath, main, 'bench', 'serve', ...flags], {
      encoding: 'utf8',
      env: { ...process.env, SERVETUNE_CACHE: cacheDir },
    });

  it('is found before anything is sent, with the number that is needed', async () => {
    const port = String(await freePort());
    const { status, stderr } = limited('--port', port, '--max-concurrency', '512');
    expect(status).toBe(2);
    expect(stderr).toMatch(/512 connections at once need \d+ open files, and this process may have 256/);
    expect(stderr).toMatch(/ulimit -n \d+/);
    // Not so many at once, so that what is wrong is that nobody listens.
    for (const flags of [
      ['--num-prompts', '10', '--max-concurrency', '512'],
      ['--request-rate', '2'],
    ]) {
      expect(limited('--port', port, ...flags).stderr).toContain('no server answers');
    }
  });
});
