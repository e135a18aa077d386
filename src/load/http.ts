import { lookup } from 'node:dns/promises';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import { now } from '../kit/clock.ts';
import { InputError, messageOf, systemCode } from '../kit/errors.ts';
import { Connection, hangUp, type Peer } from './connection.ts';
import type { Exchange, ExchangeSink, ResponseHead, Transport } from './transport.ts';

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
 *
 * It stands on bare sockets: a load of thousands of streams is mostly small reads, and Node's own HTTP client spends
 * about half as much again on each (`docs/performance.md`). Throws an InputError for headers that cannot be sent.
 */
export async function openHttp(options: HttpOptions): Promise<Transport> {
  const { url } = options;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const peer: Peer = { host, port, secure, ...(options.ca === undefined ? {} : { ca: options.ca }) };
  const headStart = requestHead(url, options.headers);
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  let socketsOpened = 0;
  let staleRetries = 0;
  /** Of connections that are gone. */
  let readsBefore = 0;

  const open = (address: string): Connection => {
    socketsOpened++;
    const connection = new Connection(peer, address);
    all.add(connection);
    connection.socket.once('close', () => {
      all.delete(connection);
      readsBefore += connection.reads;
    });
    return connection;
  };

  /** Resolves with the connection once it stands, else with undefined: the requests will tell what is wrong. */
  const openEarly = (address: string): Promise<Connection | undefined> =>
    new Promise((resolve) => {
      const connection = open(address);
      const { socket } = connection;
      const done = (): void => {
        socket.setTimeout(0);
        connection.wasIdle = true;
        resolve(connection.usable ? connection : undefined);
      };
      socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy());
      socket.once('close', done);
      socket.once(secure ? 'secureConnect' : 'connect', done);
    });

  const giveUp = (): void => {
    for (const connection of all) connection.drop();
  };
  options.signal.addEventListener('abort', giveUp, { once: true });
  const address = await resolveAddress(host, openEarly, idle);
  while (idle.length < options.preconnect && !options.signal.aborted) {
    const wave = Math.min(CONNECT_WAVE, options.preconnect - idle.length);
    const opened = await Promise.all(Array.from({ length: wave }, () => openEarly(address)));
    const connected = opened.filter((connection) => connection !== undefined);
    idle.push(...connected);
    if (connected.length < wave) break;
  }
  options.signal.removeEventListener('abort', giveUp);

  const take = (): Connection => {
    for (let connection = idle.pop(); connection; connection = idle.pop()) if (connection.usable) return connection;
    return open(address);
  };

  const send = (body: Buffer, sink: ExchangeSink, id?: string): Exchange => {
    const head = `${headStart}${id === undefined ? '' : `x-request-id: ${id}\r\n`}content-length: ${body.length}\r\n\r\n`;
    // In one piece: a write of two costs twice as much as the copy.
    const request = Buffer.allocUnsafe(head.length + body.length);
    body.copy(request, request.write(head, 'latin1'));
    const sentS = now();
    let over = false;
    let released = false;
    let drain: NodeJS.Timeout | undefined;
    let connection = take();
    let fresh = !connection.wasIdle;

    const release = (): void => {
      if (released) return;
      released = true;
      clearTimeout(drain);
      sink.released(now());
    };
    const discard = (): void => {
      if (released) return;
      connection.drop();
      release();
    };
    // Timers run before reads: a process that was held up must look once for what has arrived meanwhile.
    const discardUnlessRead = (): void => void setImmediate(discard);

    const carried = {
      head: (responseHead: ResponseHead): void => sink.head(responseHead, connection.readAtS),
      body(bytes: Buffer, start: number, end: number): void {
        if (over || !sink.bytes(bytes, start, end, connection.readAtS)) return;
        over = true;
        drain = setTimeout(discardUnlessRead, DRAIN_MS);
      },
      complete(): void {
        if (!over) {
          over = true;
          sink.end(connection.readAtS);
        }
        // Whoever sends now must find the connection there.
        if (!released && connection.usable) idle.push(connection);
        release();
      },
      lost(error: Error): void {
        if (!over && !fresh && !connection.answered && isReset(error) && now() - sentS < STALE_S) {
          staleRetries++;
          fresh = true;
          connection = open(address);
          connection.send(request, carried);
          return;
        }
        if (!over) {
          over = true;
          sink.broken(error, now());
        }
        release();
      },
    };
    connection.send(request, carried);

    return {
      cancel() {
        over = true;
        connection.drop();
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
    get reads() {
      let reads = readsBefore;
      for (const connection of all) reads += connection.reads;
      return reads;
    },
    close() {
      for (const connection of all) connection.drop();
    },
  };
}

/** The request's head up to the headers that differ from one request to the next. */
function requestHead(url: URL, given: Readonly<Record<string, string>>): string {
  const headers: Record<string, string> = {
    host: url.host,
    accept: '*/*',
    'content-type': 'application/json',
    ...(url.username === '' ? {} : { authorization: basic(url) }),
    ...lowerCase(given),
  };
  const problems = Object.entries(headers).flatMap(([name, value]) => {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      return [];
    } catch (error) {
      return [{ place: '--header', message: messageOf(error), hint: 'headers are KEY=VALUE, in Latin characters' }];
    }
  });
  if (problems.length > 0) throw new InputError(problems);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}`;
}

/**
 * The one address that is used throughout. A name with several (`localhost` is ::1 and 127.0.0.1) gets the first that
 * takes a connection; a name that cannot be resolved stays, and each request will say so.
 */
async function resolveAddress(
  host: string,
  tryOpen: (address: string) => Promise<Connection | undefined>,
  idle: Connection[],
): Promise<string> {
  if (isIP(host) !== 0) return host;
  const found = await lookup(host, { all: true }).catch(() => []);
  // Some machines know localhost as one of its two addresses only, and servers listen on the other.
  const loopback = host === 'localhost' ? ['127.0.0.1', '::1'] : [];
  const addresses = [...new Set([...found.map(({ address }) => address), ...loopback])];
  if (addresses.length < 2) return addresses[0] ?? host;
  for (const address of addresses) {
    const connection = await tryOpen(address);
    if (!connection) continue;
    idle.push(connection);
    return address;
  }
  return addresses[0] ?? host;
}

const isReset = (error: Error): boolean =>
  error.message === hangUp || ['ECONNRESET', 'EPIPE', 'ECONNABORTED'].includes(systemCode(error) ?? '');

const basic = (url: URL): string =>
  `Basic ${Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')}`;

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
