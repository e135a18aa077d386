import type { Socket } from 'node:net';
import { messageOf } from '../../kit/errors.ts';
import { errorBody, Refusal } from '../refusal.ts';
import { readAsk } from './ask.ts';
import type { Events } from './events.ts';
import { type HttpRequest, newRequestReader } from './http-request.ts';
import type { PacedOptions } from './options.ts';
import type { Pacer } from './pacer.ts';
import { routes } from './routes.ts';
import type { Stream } from './stream.ts';
import type { Tallies } from './tallies.ts';
import type { Turns } from './turns.ts';
import { openWire } from './wire.ts';

/** What all connections of a server share. */
export interface Serving {
  readonly options: PacedOptions;
  readonly tallies: Tallies;
  readonly turns: Turns;
  readonly pacer: Pacer;
  readonly events: { readonly text: Events; readonly chat: Events };
}

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Content Too Large',
  500: 'Internal Server Error',
};

/**
 * How long a refused client may go on sending. Closed with bytes unread, the connection would be reset, and the client
 * might never see why.
 */
const lingerMs = 1000;

/** Answers the requests of one connection, one after the other, until either side closes it. */
export function serveConnection(socket: Socket, serving: Serving): void {
  const { options, tallies, turns, pacer } = serving;
  const wire = openWire(socket, tallies);
  const reader = newRequestReader(options.maxBodyBytes);
  let current: Stream | undefined;
  let ending = false;
  tallies.connections++;
  turns.enter(performance.now());
  const acceptedIn = turns.count;
  const connectedSinceMs = turns.accepted();

  const sendJson = (status: number, body: object, close: boolean): void => {
    const json = JSON.stringify(body);
    const length = Buffer.byteLength(json);
    const connection = close ? 'connection: close\r\n' : '';
    socket.write(
      `HTTP/1.1 ${status} ${reasons[status]}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${connection}\r\n${json}`,
    );
    if (close) end();
  };

  const end = (): void => {
    ending = true;
    socket.end();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };

  const refuse = (error: unknown): void => {
    tallies.refused++;
    const { status, code, message, param } =
      error instanceof Refusal ? error : new Refusal(500, 'internal', messageOf(error));
    sendJson(status, errorBody(status, code, message, param), true);
  };

  const generate = (request: HttpRequest, dialect: 'text' | 'chat', startedAtMs: number): void => {
    if (!request.hasLength) throw new Refusal(400, 'no_length', 'the request has no content-length');
    const stream: Stream = {
      wire,
      events: serving.events[dialect],
      shape: readAsk(request.body, options),
      startedAtMs,
      sent: 0,
      lastSentAtMs: 0,
      state: 'running',
      slot: 0,
      dueAtMs: 0,
      next: undefined,
      onFlushed: () => pacer.resume(stream),
      onAnswered: () => {
        current = undefined;
        tallies.active--;
        tallies.answered++;
        if (request.close) end();
      },
    };
    // What was sent before the connection was accepted shows when the loop looks next.
    const cameWithConnection = turns.count <= acceptedIn + 1;
    tallies.unread.add((startedAtMs - (cameWithConnection ? connectedSinceMs : turns.unseenSinceMs)) * 1000);
    current = stream;
    tallies.active++;
    pacer.start(stream);
  };

  const answer = (request: HttpRequest, startedAtMs: number): void => {
    const { method, path, close } = request;
    const route = routes[path];
    if (route === undefined) throw new Refusal(404, 'not_found', `there is no ${path} here`);
    if (method !== route.method) throw new Refusal(405, 'method_not_allowed', `${path} takes ${route.method}`);
    if ('dialect' in route) generate(request, route.dialect, startedAtMs);
    else sendJson(200, route.json(serving), close);
  };

  socket.on('data', (bytes) => {
    if (ending) return;
    const readAtMs = performance.now();
    turns.enter(readAtMs);
    if (current !== undefined) {
      // In the middle of a stream there is no way to answer: the connection is cut.
      tallies.refused++;
      socket.destroy();
      return;
    }
    try {
      const request = reader.push(bytes);
      if (request !== undefined) answer(request, readAtMs);
    } catch (error) {
      refuse(error);
    }
  });
  // A client that has closed its side reads no more: there is nobody left to stream to.
  socket.on('end', () => {
    if (current !== undefined) socket.destroy();
  });
  // What went wrong does not matter here: `close` follows.
  socket.on('error', () => {});
  socket.on('close', () => {
    tallies.connections--;
    if (current === undefined) return;
    current.state = 'over';
    current = undefined;
    tallies.active--;
    tallies.gone++;
  });
}
