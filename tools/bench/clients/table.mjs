import { aiperf } from './aiperf.mjs';
import { guidellm } from './guidellm.mjs';
import { servetune } from './servetune.mjs';
import { vllm } from './vllm.mjs';
import { vllmUvloop } from './vllm-uvloop.mjs';

/**
 * The load clients. Each has
 * - `name`, and the `flag` that gives its program where that is not on the PATH;
 * - `install`: how to get it;
 * - `find(path)`: `{ program, version }`, or undefined when it is not installed;
 * - `command(load)`: the program and its arguments for `requests` requests of `tokens` tokens, all at once;
 * - `env`: what it needs in the environment;
 * - `read(dir)`: its result, from the files it wrote into its folder: `ok` requests, `ttftMeanS`, `itlP99S` (null when
 *   it keeps no gaps between events), `durationS`, its `verdict` on itself (null when it gives none) and the `reason`.
 */
export const clients = [servetune, vllm, vllmUvloop, guidellm, aiperf];
