import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Environment } from '../kit/hub-cache.ts';
import { proxyFor, proxyHeaders, tunnelTo } from './proxy.ts';

export interface Question {
  readonly method?: 'GET' | 'HEAD';
  readonly headers?: Readonly<Record<string, string>>;
  /** Names the proxy, if there is one to go through. */
  readonly environment?: Environment | undefined;
  /** Take a redirect to another host for the answer: what matters is that this host lets us have the file. */
  readonly stay?: boolean;
  readonly signal: AbortSignal;
}

/** Most redirects that are followed: a hub sends large files from elsewhere, at times in two steps. */
const mostRedirects = 10;
const secrets = ['authorization', 'cookie'];

/**
 * Asks one question over HTTP and follows redirects; the answer's body is yet to be read, or `destroy`ed. A secret is
 * told to the first address and to no other host that it sends us to. A connection is used once. Rejects with what the
 * connection failed with, and the signal's reason.
 */
export async function ask(address: string, question: Question): Promise<IncomingMessage> {
  let url = new URL(address);
  let headers = question.headers ?? {};
  for (let redirects = 0; ; redirects++) {
    const answer = await once(url, { ...question, headers });
    const { location } = answer.headers;
    if (![301, 302, 303, 307, 308].includes(answer.statusCode ?? 0) || location === undefined) return answer;
    const next = new URL(location, url);
    if (question.stay && next.origin !== url.origin) return answer;
    answer.destroy();
    if (redirects === mostRedirects) throw new Error(`more than ${mostRedirects} redirects`);
    if (next.origin !== url.origin) {
      headers = Object.fromEntries(Object.entries(headers).filter(([name]) => !secrets.includes(name.toLowerCase())));
    }
    url = next;
  }
}

async function once(url: URL, question: Question): Promise<IncomingMessage> {
  const { method = 'GET', environment = {}, signal } = question;
  signal.throwIfAborted();
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${url.protocol} is not HTTP`);
  // A length, and a place to go on from, mean something only where the body is the file itself.
  const headers = { 'accept-encoding': 'identity', 'user-agent': 'servetune', ...question.headers, host: url.host };
  const proxy = proxyFor(url, environment);
  const tunnel = proxy !== null && url.protocol === 'https:' ? await tunnelTo(url, proxy, signal) : null;
  return new Promise((done, fail) => {
    const common = { method, headers, agent: false, signal } as const;
    const path = `${url.pathname}${url.search}`;
    const asking =
      tunnel !== null
        ? requestPlain({ ...common, path, agent: undefined, createConnection: () => tunnel })
        : proxy !== null
          ? (proxy.protocol === 'https:' ? requestTls : requestPlain)({
              ...common,
              host: proxy.hostname,
              port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
              path: url.href,
              headers: { ...headers, ...proxyHeaders(proxy) },
            })
          : (url.protocol === 'https:' ? requestTls : requestPlain)(url, common);
    asking.once('response', done);
    asking.on('error', fail);
    asking.end();
  });
}
