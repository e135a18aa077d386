import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/processes/ports.ts';
import { versionAt } from '../../src/study/attached.ts';
import { engineServer } from '../engines/engine-server.ts';
import { recordedText } from '../engines/recorded.ts';

const signal = AbortSignal.timeout(60_000);

/** The body that a release answered with, as it was recorded. */
function recordedBody(engine: string, exchange: string): string {
  const { raw } = JSON.parse(recordedText(`${engine}/exchanges.json`))[exchange];
  return raw.slice(raw.indexOf('\r\n\r\n') + 4);
}

describe('the version of a server that runs already', () => {
  it.each([
    ['vLLM', { 'GET /version': recordedBody('vllm-0.25.1', 'version') }, '0.25.1'],
    ['SGLang', { 'GET /server_info': '{"model_path": "m", "version": "0.5.11"}' }, '0.5.11'],
    ['an older SGLang', { 'GET /get_server_info': '{"version": "0.5.5.post1", "internal_states": []}' }, '0.5.5.post1'],
    ['llama.cpp', { 'GET /props': '{"total_slots": 4, "build_info": "b7376-6b1ae5c"}' }, 'b7376-6b1ae5c'],
  ])('is told by %s', async (_, answers, version) => {
    const routes = Object.entries(answers).map(([route, body]) => [route, [[200, body]]] as const);
    await using server = await engineServer(Object.fromEntries(routes));
    expect(await versionAt(server.url, signal)).toBe(version);
    expect(await versionAt(new URL('/v1', server.url), signal)).toBe(version);
  });

  it.each([
    ['no such route', {}],
    ['an error', { 'GET /version': [[500, '{"version": "1.0"}']] }],
    ['no JSON', { 'GET /version': [[200, '<html>']] }],
    ['null', { 'GET /version': [[200, 'null']] }],
    ['no text', { 'GET /version': [[200, '{"version": {"major": 1}}']] }],
    ['no version', { 'GET /version': [[200, '{"version": "it depends, ask my owner"}']] }],
  ] as const)('is unknown where it answers with %s', async (_, answers) => {
    await using server = await engineServer(answers);
    expect(await versionAt(server.url, signal)).toBeUndefined();
  });

  it('is unknown where nobody answers', async () => {
    expect(await versionAt(new URL(`http://127.0.0.1:${await freePort()}`), signal)).toBeUndefined();
  });

  it('is not waited for long, and the signal ends the question', async () => {
    const server = createServer(() => {});
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const began = performance.now();
    expect(await versionAt(url, signal)).toBeUndefined();
    expect(performance.now() - began).toBeLessThan(8000);
    await expect(versionAt(url, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    server.closeAllConnections();
    server.close();
  });
});
