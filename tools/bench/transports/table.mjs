import { fetching } from './fetch.mjs';
import { nodeHttp } from './node-http.mjs';
import { servetune } from './servetune.mjs';
import { undici } from './undici.mjs';

/**
 * The ways to read streams in Node. Each has a `name`, and `open(url, { streams, folder })`, which gives `send(body,
 * onBytes)`, a promise of the end of one answer, and `close()`. One that is no part of Node or of this repository has
 * `find(folder)`, its version or undefined, and `install`.
 */
export const transports = [servetune, nodeHttp, undici, fetching];
