import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { freePort } from '../../src/processes/ports.ts';
import { type FoundServer, findServer, modelListUrl, modelsIn, NobodyThere, routeOf } from '../../src/study/target.ts';
import { type Script, startReplay } from '../load/replay.ts';

const signal = AbortSignal.timeout(60_000);
const script = (body: unknown, status = 200): Script => ({
  status,
  steps: [{ afterMs: 0, bytes: typeof body === 'string' ? body : JSON.stringify(body) }],
});
const list = (...data: unknown[]) => script({ object: 'list', data });

async function find(answer: Script, wanted?: string): Promise<FoundServer | InputError> {
  await using server = await startReplay(answer);
  return await findServer(server.baseUrl, wanted, {}, signal).catch((error: InputError) => error);
}

describe('where a route is', () => {
  it.each([
    ['http://h:1', 'http://h:1/v1/models'],
    ['http://h:1/', 'http://h:1/v1/models'],
    ['http://h:1/api', 'http://h:1/api/v1/models'],
    ['http://h:1/api//', 'http://h:1/api/v1/models'],
    ['http://h:1/api/v1', 'http://h:1/api/v1/models'],
    ['http://h:1/v1/', 'http://h:1/v1/models'],
    ['http://h:1/v10', 'http://h:1/v10/v1/models'],
    ['http://[::1]:1/a?key=k', 'http://[::1]:1/a/v1/models?key=k'],
  ])('of %s', (base, url) => expect(modelListUrl(new URL(base)).href).toBe(url));

  it('leaves the base URL as it is', () => {
    const base = new URL('http://h/v1');
    expect(routeOf(base, 'tokenize').href).toBe('http://h/tokenize');
    expect(base.href).toBe('http://h/v1');
  });
});

describe('the model of a server', () => {
  it.each([
    ['the first where none is asked for', [{ id: 'a', root: '/m' }, { id: 'b' }], undefined, { model: 'a', root: '/m' }],
    ['the one asked for', [{ id: 'a' }, { id: 'b', max_model_len: 64 }], 'b', { model: 'b', maxModelLen: 64, notes: [] }],
    ['the one of that root', [{ id: 'a', root: 'x' }, { id: 'b', root: 'y' }], 'y', { model: 'b', root: 'y' }],
    ['a name before a root', [{ id: 'a', root: 'b' }, { id: 'b', root: 'c' }], 'b', { model: 'b', root: 'c' }],
    ['without a length that is none', [{ id: 'a', max_model_len: null }], 'a', { model: 'a', notes: [] }],
  ] as const)('is %s', async (_, data, wanted, found) => {
    expect(await find(list(...data), wanted)).toMatchObject(found);
  }); // biome-ignore format: one case a line

  it.each([
    ['no list', script('<html>', 200)],
    ['404', script({ detail: 'Not Found' }, 404)],
    ['null', script('null')],
  ])('is taken at its word where the server answers with %s', async (_, answer) => {
    expect(await find(answer, 'm')).toEqual({ model: 'm', notes: [] });
    expect(await find(answer)).toMatchObject({ problems: [{ place: '--model' }] });
  });

  it('is not among those that are served', async () => {
    const error = await find(list({ id: 'a' }, { id: 'b' }), 'c');
    expect(error).toMatchObject({ problems: [{ place: '--model', hint: 'it serves: a, b' }] });
    expect(error).not.toBeInstanceOf(NobodyThere);
  });

  it('passes over entries that are none', () => {
    const body = JSON.stringify({ data: [null, 7, {}, { id: 3 }, { id: 'a', root: 1, max_model_len: -1 }] });
    expect(modelsIn(body)).toEqual([{ name: 'a' }]);
    for (const other of ['', '[]', '{}', '{"data":{}}', 'null', '7']) expect(modelsIn(other)).toBeNull();
  });
});

describe('a server that is not there', () => {
  it.each([[502], [503], [504]])('may come where something answers %d for it', async (status) => {
    expect(await find(script({ error: 'soon' }, status), 'm')).toBeInstanceOf(NobodyThere);
  });

  it('may come where nothing listens', async () => {
    const url = new URL(`http://127.0.0.1:${await freePort()}`);
    await expect(findServer(url, 'm', {}, signal)).rejects.toBeInstanceOf(NobodyThere);
  });

  it.each([[401], [403]])('is there where it answers %d', async (status) => {
    const error = await find(script('who are you', status), 'm');
    expect(error).toBeInstanceOf(InputError);
    expect(error).not.toBeInstanceOf(NobodyThere);
    expect(error).toMatchObject({ problems: [{ hint: expect.stringContaining('OPENAI_API_KEY') }] });
  });

  it('leaves at once when interrupted', async () => {
    await using server = await startReplay({ headAfterMs: 60_000, steps: [] });
    const stop = new AbortController();
    const finding = findServer(server.baseUrl, 'm', {}, stop.signal);
    setTimeout(() => stop.abort(new Error('enough')), 50);
    await expect(finding).rejects.toThrow('enough');
  });
});
