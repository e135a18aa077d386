import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { ServetuneError, systemCode } from '../kit/errors.ts';

const host = '127.0.0.1';
/**
 * Below the ports that systems give to outgoing connections (Linux from 32768, macOS from 49152), because an engine
 * takes minutes until it binds, while the load of others goes on; and some engines bind a second one 10,000 above.
 */
const lowest = 20_000;
const highest = 32_000;
const handedOut = new Set<number>();

/** A TCP port on 127.0.0.1 that nobody listens on, and that this process was not given before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const port = randomInt(lowest, highest);
    if (handedOut.has(port) || (await portInUse(port))) continue;
    handedOut.add(port);
    return port;
  }
  throw noFreePort(lowest, highest);
}

/** The first port from `first` upwards that is not in use: what a user who was told of `first` expects to find. */
export async function portFrom(first: number): Promise<number> {
  for (let port = first; port <= 65_535; port++) if (!(await portInUse(port))) return port;
  throw noFreePort(first, 65_535);
}

/** True when something listens on the port so that a server on 127.0.0.1 could not, or would not be the one to answer. */
export async function portInUse(port: number): Promise<boolean> {
  return (await answers(port)) || !(await canListen(port));
}

/** Needed beside listening: macOS lets 127.0.0.1 be bound while somebody else listens on all addresses. */
function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ host, port });
    const finish = (is: boolean): void => {
      socket.destroy();
      done(is);
    };
    socket.setTimeout(2000, () => finish(true));
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
  });
}

function canListen(port: number): Promise<boolean> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once('error', (error) => (systemCode(error) === 'EADDRINUSE' ? done(false) : fail(error)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => done(true)));
  });
}

const noFreePort = (from: number, to: number): ServetuneError =>
  new ServetuneError('no_free_port', `no free port between ${from} and ${to} on ${host}`, {
    hint: 'end servers that are not needed any more',
  });
