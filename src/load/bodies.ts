import type { RequestSpec } from '../records/request.ts';

/** Memory for request bodies that are made ready before the clock starts. */
const mostBytes = 64 << 20;

/** Request bodies that are ready to be sent, in one piece of memory that threads can share. */
export interface ReadyBodies {
  readonly bodies: SharedArrayBuffer;
  /** Where the body of each request begins, and where the last one ends. */
  readonly bodyStarts: Float64Array;
}

/** The bodies of the first requests, `most` of them or as many as fit into 64 MiB; the others are made when they are sent. */
export function readyBodies(
  requests: readonly RequestSpec[],
  most: number,
  bodyOf: (spec: RequestSpec) => Buffer,
): ReadyBodies {
  const made: Buffer[] = [];
  const starts = [0];
  let bytes = 0;
  for (const spec of requests.slice(0, most)) {
    const body = bodyOf(spec);
    if (bytes + body.length > mostBytes) break;
    made.push(body);
    bytes += body.length;
    starts.push(bytes);
  }
  const bodies = new SharedArrayBuffer(bytes);
  const all = Buffer.from(bodies);
  for (const [i, body] of made.entries()) body.copy(all, starts[i]);
  return { bodies, bodyStarts: Float64Array.from(starts) };
}
