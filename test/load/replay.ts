import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { now } from '../../src/kit/clock.ts';

/** What the server does for one request. */
export interface Script {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Pause before the head, milliseconds. */
  readonly headAfterMs?: number;
  readonly steps: readonly Step[];
}

export interface Step {
  readonly afterMs: number;
  readonly bytes?: string | Buffer;
  /** How the body is closed; `end` after the last step when no step says otherwise. */
  readonly close?: 'end' | 'hold' | 'reset';
}

/** One request as the server saw it. Times on the clock of `kit/clock.ts`: server and client share the process. */
export interface Seen {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly receivedS: number;
  /** When each step was written. */
  readonly writtenS: number[];
}

export interface Replay extends AsyncDisposable {
  readonly baseUrl: URL;
  readonly server: Server;
  readonly seen: Seen[];
  /** Most requests that were being answered at once. */
  most: number;
  connections: number;
}

/** A real HTTP server on loopback that plays a script for each request. */
export async function startReplay(
  script: Script | ((n: number, seen: Seen) => Script),
  options: { host?: string; port?: number; tls?: { key: string; cert: string } } = {},
): Promise<Replay> {
  let open = 0;
  const listener = (request: import('node:http').IncomingMessage, response: ServerResponse): void => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const seen: Seen = {
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
        receivedS: now(),
        writtenS: [],
      };
      replay.seen.push(seen);
      open++;
      replay.most = Math.max(replay.most, open);
      let closed = false;
      const leave = (): void => {
        if (!closed) open--;
        closed = true;
      };
      response.once('close', leave);
      play(typeof script === 'function' ? script(replay.seen.length - 1, seen) : script, response, seen, leave);
    });
  };
  const server = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);
  server.keepAliveTimeout = 60_000;
  server.requestTimeout = 0;
  server.on('connection', () => {
    replay.connections++;
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve));
  const { port, address } = server.address() as AddressInfo;
  const replay: Replay = {
    baseUrl: new URL(`${options.tls ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}:${port}`),
    server: server as Server,
    seen: [],
    most: 0,
    connections: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return replay;
}

function play(script: Script, response: ServerResponse, seen: Seen, leave: () => void): void {
  const steps = [...script.steps];
  const next = (): void => {
    for (let step = steps.shift(); step; step = steps.shift()) {
      if (step.bytes !== undefined) response.write(step.bytes);
      seen.writtenS.push(now());
      if (step.close === 'hold') return;
      if (step.close === 'reset') {
        response.destroy();
        return;
      }
      const pauseMs = steps[0]?.afterMs ?? 0;
      if (pauseMs > 0) {
        setTimeout(next, pauseMs);
        return;
      }
    }
    leave();
    response.end();
  };
  const begin = (): void => {
    response.writeHead(script.status ?? 200, { 'content-type': 'text/event-stream', ...script.headers });
    // The head travels with the first bytes, as that of most servers does.
    const pauseMs = steps[0]?.afterMs ?? 0;
    if (pauseMs > 0) {
      response.flushHeaders();
      setTimeout(next, pauseMs);
    } else next();
  };
  if (script.headAfterMs) setTimeout(begin, script.headAfterMs);
  else begin();
}

/** A stream of `tokens` chat or completion tokens, `everyMs` apart. */
export function tokens(count: number, everyMs = 0, firstMs = everyMs): Script {
  const steps: Step[] = Array.from({ length: count }, (_, i) => ({
    afterMs: i === 0 ? firstMs : everyMs,
    bytes: token,
  }));
  return { steps: [...steps, { afterMs: 0, bytes: `${finish}data: [DONE]\n\n` }] };
}

const choice = { index: 0, text: ' the', delta: { content: ' the' }, finish_reason: null };
export const token = `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
export const finish = `data: ${JSON.stringify({ choices: [{ index: 0, text: '', delta: {}, finish_reason: 'length' }] })}\n\n`;
export const done = 'data: [DONE]\n\n';
