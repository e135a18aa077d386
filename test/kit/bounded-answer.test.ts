import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { boundedAnswer } from '../../src/kit/bounded-answer.ts';

const { signal } = new AbortController();
let close = (): void => {};
afterEach(() => close());

async function server(listener: RequestListener): Promise<URL> {
  const one = createServer(listener);
  await new Promise<void>((listening) => one.listen(0, '127.0.0.1', listening));
  close = () => {
    one.closeAllConnections();
    one.close();
  };
  return new URL(`http://127.0.0.1:${(one.address() as AddressInfo).port}/told`);
}

it('gives status and text, whatever the status', async () => {
  const url = await server((request, response) => response.writeHead(503).end(`${request.method} ${request.url}`));
  expect(await boundedAnswer(url, signal, { method: 'POST' })).toEqual({ status: 503, ok: false, text: 'POST /told' });
});

it.each<[string, RequestListener]>([
  ['never comes', () => {}],
  ['never ends', (_, response) => void response.writeHead(200).write('a')],
])('does not wait for an answer that %s', async (_, listener) => {
  const url = await server(listener);
  const asked = boundedAnswer(url, signal, { timeoutS: 0.2 });
  await expect(asked).rejects.toMatchObject({ code: 'no_answer', message: `GET ${url} was not answered within 0.2 s` });
  const stop = new AbortController();
  const again = boundedAnswer(url, stop.signal);
  stop.abort(new Error('enough'));
  await expect(again).rejects.toThrow('enough');
});

it('reads no more than it may of a body without an end', async () => {
  const url = await server((_, response) => {
    const fill = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(1 << 16, 'a')));
    };
    response.writeHead(200).on('drain', fill);
    fill();
  });
  const { text } = await boundedAnswer(url, signal, { most: 1000 });
  expect(text.length).toBeGreaterThan(1000);
  expect(text.length).toBeLessThan(1 << 20);
});
