import type { Endpoint } from '../endpoints/endpoint.ts';
import { InputError } from '../kit/errors.ts';

/** The server under load. */
export interface LoadTarget {
  /** May have a path, a query (kept) and a user and password (sent as basic authorization). */
  readonly baseUrl: URL;
  readonly endpoint: Endpoint;
  /** The model's name as the server knows it. */
  readonly model: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Path below the base URL instead of the endpoint's own (`--endpoint`). */
  readonly path?: string;
  /** PEM certificates to trust besides the well-known ones. */
  readonly ca?: string;
}

/**
 * Where the requests go: the path is appended to that of the base URL, as `vllm bench serve` does. A base URL that
 * already ends in `/v1`, as most clients want it, does not get the endpoint's `/v1` twice. Throws an InputError for
 * anything but http and https.
 */
export function requestUrl(target: Pick<LoadTarget, 'baseUrl' | 'endpoint' | 'path'>): URL {
  const url = new URL(target.baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const message = `must begin with http:// or https://, and is ${url.protocol}...`;
    throw new InputError([{ place: '--base-url', message }]);
  }
  const base = url.pathname.replace(/\/+$/, '');
  let path = target.path ?? target.endpoint.path;
  if (target.path === undefined && base.endsWith('/v1') && path.startsWith('/v1/')) path = path.slice('/v1'.length);
  const [pathname = '', query] = path.split('?', 2);
  url.pathname = `${base}/${pathname.replace(/^\/+/, '')}`;
  if (query !== undefined) url.search = url.search === '' ? query : `${url.search}&${query}`;
  return url;
}
