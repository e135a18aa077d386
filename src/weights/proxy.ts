import { request as requestPlain } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { exitCodes, ServetuneError } from '../kit/errors.ts';
import type { Environment } from '../kit/hub-cache.ts';

/**
 * The proxy that the environment names for an address, by the variables that curl and Python's clients read
 * (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in either case); null for none. Throws a ServetuneError
 * `bad_proxy` for one that is not spoken to over HTTP.
 */
export function proxyFor(url: URL, environment: Environment): URL | null {
  const read = (name: string): string | undefined => environment[name.toLowerCase()] || environment[name];
  if (bypassed(url, read('NO_PROXY'))) return null;
  const given = read(url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY') ?? read('ALL_PROXY');
  if (given === undefined) return null;
  const text = given.includes('://') ? given : `http://${given}`;
  const proxy = URL.canParse(text) ? new URL(text) : null;
  if (proxy?.protocol === 'http:' || proxy?.protocol === 'https:') return proxy;
  throw new ServetuneError('bad_proxy', 'the proxy that the environment names is not an HTTP proxy', {
    hint: 'set HTTPS_PROXY to http://HOST:PORT, or exempt the hub with NO_PROXY',
    exitCode: exitCodes.badInput,
  });
}

/** `NO_PROXY`: names with all that end in them, with a port or without, or `*` for everything. */
function bypassed(url: URL, list: string | undefined): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return (list ?? '').split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    const [, name = '', onPort] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const suffix = name.replace(/^\*?\./, '');
    if (suffix === '' || (onPort !== undefined && onPort !== port)) return false;
    return host === suffix || host.endsWith(`.${suffix}`);
  });
}

/** What a proxy wants to know of the user: `Proxy-Authorization`, from its address. */
export function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const words = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(words).toString('base64')}` };
}

/** An encrypted connection to the host of `url` through `proxy` (CONNECT). Rejects with what went wrong on the way. */
export async function tunnelTo(url: URL, proxy: URL, signal: AbortSignal): Promise<Socket> {
  const place = `${url.hostname}:${url.port || 443}`;
  const overTls = proxy.protocol === 'https:';
  const host = proxy.hostname;
  const port = Number(proxy.port || (overTls ? 443 : 80));
  const socket = await new Promise<Socket>((done, fail) => {
    const asking = requestPlain({
      method: 'CONNECT',
      path: place,
      headers: { host: place, ...proxyHeaders(proxy) },
      signal,
      ...(overTls
        ? { createConnection: () => connectTls({ host, port, ...serverName(host) }) }
        : { host, port, agent: false as const }),
    });
    asking.once('error', fail);
    asking.once('connect', ({ statusCode }, connected) => {
      if (statusCode === 200) return done(connected);
      connected.destroy();
      fail(new Error(`the proxy ${proxy.host} answered ${statusCode} to a connection to ${place}`));
    });
    asking.end();
  });
  return new Promise((done, fail) => {
    const secure = connectTls({ socket, host: url.hostname, ...serverName(url.hostname) }, () => done(secure));
    secure.on('error', fail);
    signal.addEventListener('abort', () => secure.destroy(new Error('aborted')), { once: true });
  });
}

/** An address in numbers must not be told as a name. */
const serverName = (host: string): { servername?: string } => (isIP(host) === 0 ? { servername: host } : {});
