import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface EngineServer extends AsyncDisposable {
  readonly url: URL;
  /** `POST /path`, in the order of arrival. */
  readonly asked: readonly string[];
}

/** An HTTP server that answers by method and path; a list is answered one after the other, the last for good. */
export async function engineServer(
  answers: Readonly<Record<string, readonly (readonly [status: number, body: string])[]>>,
): Promise<EngineServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const route = `${request.method} ${request.url}`;
    const list = answers[route] ?? [[404, '{"detail":"Not Found"}']];
    const [status, body] = list[Math.min(asked.filter((a) => a === route).length, list.length - 1)] as [number, string];
    asked.push(route);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return {
    url,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
