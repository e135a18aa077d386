import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { now, sleep } from '../kit/clock.ts';
import { exitCodes, messageOf, ServetuneError, systemCode } from '../kit/errors.ts';
import { type Answer, sendJson } from './answer.ts';
import { newCounters } from './counters.ts';
import { errorBody, Refusal } from './refusal.ts';
import { type Context, routes as ownRoutes, type Routes } from './routes.ts';
import type { TokenSource } from './source.ts';

export interface ServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Largest body of a request that is read, 32 MiB by default. */
  readonly maxBodyBytes?: number;
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server that listens. Until a source is attached it answers 503 to everything, as an engine that is loading. */
export interface OpenAiServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string;
  /** `routes` are taken before those that every source has. */
  attach(source: TokenSource, routes?: Routes): void;
  /**
   * Takes no more requests, lets those that run finish for `graceS` seconds, ends the rest with an error, closes every
   * connection.
   */
  stop(graceS: number): Promise<void>;
}

/** A client may keep a connection for this long without using it; shorter, and it would meet sockets just closed. */
const keepAliveMs = 120_000;

/** How long a client whose body is too large may go on sending before its connection is cut. */
const drainMs = 2_000;

/**
 * Serves OpenAI's HTTP API for a token source: chat and text completions (whole or streamed), models, health, version,
 * tokenize, detokenize, metrics, and the settings in force (`GET /server_info`).
 * Throws a ServetuneError `port_in_use` or `cannot_listen`, exit code 2.
 */
export async function startServer(options: ServerOptions): Promise<OpenAiServer> {
  const answers = new Set<Answer>();
  let context: Context | undefined;
  let routes: Routes = ownRoutes;
  const headers = Object.entries(options.headers ?? {});
  let stopping = false;

  const server = createServer({ keepAliveTimeout: keepAliveMs, requestTimeout: 0 }, (request, response) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    if (stopping) refuse(request, response, new Refusal(503, 'stopping', 'the server is stopping'));
    else if (context === undefined) sendJson(response, 503, loading);
    else answer(context, routes, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, options)));
    server.listen({ host: options.host, port: options.port, backlog: 4096 }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;

  return {
    url: `http://${host}:${port}`,
    attach(source, more = {}) {
      routes = { ...ownRoutes, ...more };
      context = {
        source,
        counters: newCounters(),
        answers,
        maxBodyBytes: options.maxBodyBytes ?? 32 * 1024 * 1024,
        createdAtS: Math.floor(Date.now() / 1000),
      };
    },
    async stop(graceS) {
      stopping = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const deadline = now() + graceS;
      while (answers.size > 0 && now() < deadline) await sleep(0.01);
      for (const open of [...answers]) open.abort('the server is stopping');
      // One turn of the loop, so that the errors just written reach the sockets before they are closed.
      await new Promise((resolve) => setImmediate(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The body that llama-server answers with while it loads, so that whoever waits for one knows it. */
const loading = { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } };

function answer(context: Context, routes: Routes, request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '/').split('?', 1)[0] as string;
  const methods = routes[path];
  const route = methods?.[request.method ?? 'GET'];
  if (methods === undefined) {
    refuse(request, response, new Refusal(404, 'not_found', `there is no ${path} here`));
  } else if (route === undefined) {
    const allowed = Object.keys(methods).join(', ');
    refuse(request, response, new Refusal(405, 'method_not_allowed', `${path} takes ${allowed}`));
  } else {
    (async () => route(context, request, response))().catch((error) => refuse(request, response, error));
  }
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const { status, code, message, param } =
    error instanceof Refusal ? error : { status: 500, code: 'internal', message: messageOf(error), param: null };
  if (status === 413) {
    // What is left of the body would be taken for the next request, and may be endless.
    response.setHeader('connection', 'close');
    request.resume();
    setTimeout(() => request.destroy(), drainMs).unref();
  }
  sendJson(response, status, errorBody(status, code, message, param));
}

function listenError(error: Error, { host, port }: ServerOptions): ServetuneError {
  if (systemCode(error) === 'EADDRINUSE') {
    return new ServetuneError('port_in_use', `port ${port} on ${host} is in use`, {
      hint: 'stop the program that listens there, or choose another one with --port',
      exitCode: exitCodes.badInput,
      cause: error,
    });
  }
  return new ServetuneError('cannot_listen', `cannot listen on ${host}, port ${port}: ${messageOf(error)}`, {
    hint: 'give an address of this machine with --host and a port from 1024 to 65535 with --port',
    exitCode: exitCodes.badInput,
    cause: error,
  });
}
