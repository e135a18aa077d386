import { lookup } from 'node:dns/promises';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { now } from '../kit/clock.ts';
import { systemCode } from '../kit/errors.ts';
import type { Exchange, ExchangeSink, Transport } from './transport.ts';

export interface HttpOptions {
  /** Where every request goes, query included. */
  readonly url: URL;
  /** Sent with every request, over the ones that are sent anyway. */
  readonly headers: Readonly<Record<string, string>>;
  /** Connections to open before the first request, so that a burst does not wait for them. */
  readonly preconnect: number;
  /** PEM certificates to trust besides the well-known ones. */
  readonly ca?: string;
  readonly signal: AbortSignal;
}

/**
 * How long the end of the body may stay out after the sink has all it wants. Servers send it right behind their last
 * event; waiting for it keeps the connection, and keeps the next request from overtaking the end of this one.
 */
const DRAIN_MS = 10;

/** A refusal later than this after sending was no idle connection that had gone stale: the server took the request. */
const STALE_S = 1;

/** Opened at a time: more would overflow the backlog of small servers, and each loss costs a second. */
const CONNECT_WAVE = 64;
const CONNECT_TIMEOUT_MS = 2000;

/**
 * HTTP/1.1 over keep-alive connections, as many as there are requests under way. No proxy, no redirect, no time limit of
 * its own, and no retry but one: when a request goes out on an idle connection that the server had closed and not one
 * byte came back, it is sent once more on a fresh one, and counted. The host's name is resolved once.
 */
export async function openHttp(options: HttpOptions): Promise<Transport> {
  const { url } = options;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const spare: Socket[] = [];
  /** Opened before the load: as prone to have gone stale as one that was used. */
  const early = new WeakSet<Socket>();
  const opening = new Set<Socket>();
  let socketsOpened = 0;
  let staleRetries = 0;

  const open = (address: string): Socket => {
    socketsOpened++;
    const where = { host: address, port, noDelay: true, keepAlive: true };
    if (!secure) return connectTcp(where);
    const servername = isIP(host) === 0 ? host : '';
    return connectTls({ ...where, servername, ALPNProtocols: ['http/1.1'], ...(options.ca ? { ca: options.ca } : {}) });
  };

  /** Resolves with the socket once it is connected, else with undefined: the requests will tell what is wrong. */
  const openEarly = (address: string): Promise<Socket | undefined> =>
    new Promise((resolve) => {
      const socket = open(address);
      opening.add(socket);
      socket.on('error', ignore);
      const done = (): void => {
        opening.delete(socket);
        socket.setTimeout(0);
        resolve(socket.destroyed ? undefined : socket);
      };
      socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy());
      socket.once('close', done);
      socket.once(secure ? 'secureConnect' : 'connect', done);
    });

  const giveUp = (): void => {
    for (const socket of opening) socket.destroy();
  };
  options.signal.addEventListener('abort', giveUp, { once: true });
  const address = await resolveAddress(host, openEarly, spare);
  while (spare.length < options.preconnect && !options.signal.aborted) {
    const wave = Math.min(CONNECT_WAVE, options.preconnect - spare.length);
    const sockets = await Promise.all(Array.from({ length: wave }, () => openEarly(address)));
    const connected = sockets.filter((socket) => socket !== undefined);
    spare.push(...connected);
    if (connected.length < wave) break;
  }
  options.signal.removeEventListener('abort', giveUp);
  for (const socket of spare) early.add(socket);

  const connect = (): Socket => {
    for (let socket = spare.pop(); socket; socket = spare.pop()) {
      if (socket.destroyed || !socket.writable || socket.readableEnded) continue;
      socket.removeListener('error', ignore);
      return socket;
    }
    return open(address);
  };
  const agent = new LoadAgent(connect);

  const headers: Record<string, string> = {
    host: url.host,
    accept: '*/*',
    'content-type': 'application/json',
    ...(url.username === '' ? {} : { authorization: basic(url) }),
    ...lowerCase(options.headers),
  };
  const path = `${url.pathname}${url.search}`;

  const send = (body: Buffer, sink: ExchangeSink, id?: string): Exchange => {
    const sentS = now();
    let over = false;
    let released = false;
    let drain: NodeJS.Timeout | undefined;
    let current: ClientRequest;

    const release = (): void => {
      if (released) return;
      released = true;
      clearTimeout(drain);
      sink.released(now());
    };
    const broken = (error: Error): void => {
      if (!over) {
        over = true;
        sink.broken(error, now());
      }
      release();
    };
    const discard = (): void => {
      if (released) return;
      current.destroy();
      release();
    };
    // Timers run before reads: a process that was held up must look once for what has arrived meanwhile.
    const discardUnlessRead = (): void => void setImmediate(discard);

    const read = (response: IncomingMessage): void => {
      sink.head(
        {
          status: response.statusCode ?? 0,
          statusText: response.statusMessage ?? '',
          ...(response.headers.location ? { location: response.headers.location } : {}),
        },
        readTime(),
      );
      response.on('data', (chunk: Buffer) => {
        if (over || !sink.bytes(chunk, readTime())) return;
        over = true;
        drain = setTimeout(discardUnlessRead, DRAIN_MS);
      });
      response.on('end', () => {
        if (!over) {
          over = true;
          sink.end(now());
        }
        // The agent takes the connection back in the next tick; whoever sends now must find it there.
        process.nextTick(release);
      });
      response.on('error', broken);
      response.on('close', () => broken(new Error('the connection closed in the middle of the body')));
    };

    const attempt = (fresh: boolean): void => {
      let before = 0;
      let answered = false;
      current = request({
        method: 'POST',
        path,
        headers: { ...headers, ...(id === undefined ? {} : { 'x-request-id': id }), 'content-length': body.length },
        ...(fresh ? { createConnection: () => open(address) } : { agent }),
      });
      current.once('socket', (socket: Socket) => {
        before = socket.bytesRead;
      });
      current.once('response', (response: IncomingMessage) => {
        answered = true;
        read(response);
      });
      current.on('error', (error) => {
        const { socket } = current;
        const idleBefore = current.reusedSocket || (socket !== null && early.has(socket));
        const silent = !answered && (socket?.bytesRead ?? before) === before;
        if (!over && !fresh && idleBefore && silent && isReset(error) && now() - sentS < STALE_S) {
          staleRetries++;
          attempt(true);
        } else broken(error);
      });
      current.end(body);
    };
    attempt(false);

    return {
      cancel() {
        over = true;
        current.destroy();
        release();
      },
    };
  };

  return {
    send,
    get socketsOpened() {
      return socketsOpened;
    },
    get staleRetries() {
      return staleRetries;
    },
    close() {
      agent.destroy();
      for (const socket of spare) socket.destroy();
    },
  };
}

/** Node's agent, with connections from our own hand and no limit on how many are kept (its own is 256). */
class LoadAgent extends Agent {
  readonly #connect: () => Socket;

  constructor(connect: () => Socket) {
    super({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: Number.POSITIVE_INFINITY });
    this.#connect = connect;
  }

  override createConnection(): Socket {
    return this.#connect();
  }
}

/**
 * The one address that is used throughout. A name with several (`localhost` is ::1 and 127.0.0.1) gets the first that
 * takes a connection; a name that cannot be resolved stays, and each request will say so.
 */
async function resolveAddress(
  host: string,
  tryOpen: (address: string) => Promise<Socket | undefined>,
  spare: Socket[],
): Promise<string> {
  if (isIP(host) !== 0) return host;
  const found = await lookup(host, { all: true }).catch(() => []);
  // Some machines know localhost as one of its two addresses only, and servers listen on the other.
  const loopback = host === 'localhost' ? ['127.0.0.1', '::1'] : [];
  const addresses = [...new Set([...found.map(({ address }) => address), ...loopback])];
  if (addresses.length < 2) return addresses[0] ?? host;
  for (const address of addresses) {
    const socket = await tryOpen(address);
    if (!socket) continue;
    spare.push(socket);
    return address;
  }
  return addresses[0] ?? host;
}

let readAtS = -1;
const forgetReadTime = (): void => {
  readAtS = -1;
};

/**
 * The time of the read that is being handled: the same for all that one read of a socket brings, so that events which
 * arrived together are seen to have arrived together.
 */
function readTime(): number {
  if (readAtS < 0) {
    readAtS = now();
    process.nextTick(forgetReadTime);
  }
  return readAtS;
}

const ignore = (): void => {};

const isReset = (error: Error): boolean => ['ECONNRESET', 'EPIPE', 'ECONNABORTED'].includes(systemCode(error) ?? '');

const basic = (url: URL): string =>
  `Basic ${Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')}`;

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
