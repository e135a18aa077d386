import type { RequestSpec } from '../records/request.ts';

/** Memory for request bodies that are made ready before the clock starts. */
const mostBytes = 64 << 20;

/** What a record repeats of its request. */
export type AskedTokens = Pick<RequestSpec, 'index' | 'promptTokens' | 'outputTokens'>;

/** Texts in one piece of memory that threads share. */
interface SharedTexts {
  readonly bytes: SharedArrayBuffer;
  /** Where each begins, and where the last one ends. */
  readonly starts: Float64Array;
}

/** The requests of a load as all its threads see them: in memory once, however many threads there are. */
export interface SharedRequests {
  /** Prompt and output tokens of each. */
  readonly tokens: Float64Array;
  /** The bodies of the first ones, ready to be sent. */
  readonly bodies: SharedTexts;
  /** The others, as JSON. */
  readonly specs: SharedTexts;
}

/**
 * Shares requests out to threads. The bodies of the first `ready` are made now, as many as fit into 64 MiB: making them
 * would hold a burst up.
 */
export function shareRequests(
  requests: readonly RequestSpec[],
  ready: number,
  bodyOf: (spec: RequestSpec) => string,
): SharedRequests {
  const tokens = new Float64Array(new SharedArrayBuffer(requests.length * 2 * Float64Array.BYTES_PER_ELEMENT));
  for (const [i, { promptTokens, outputTokens }] of requests.entries()) tokens.set([promptTokens, outputTokens], 2 * i);
  const bodies = shareTexts(requests.slice(0, ready), bodyOf, mostBytes);
  const specs = shareTexts(requests.slice(bodies.starts.length - 1), (spec) => JSON.stringify(spec));
  return { tokens, bodies, specs };
}

/** Of the request with this index. */
export function tokensAsked({ tokens }: SharedRequests, index: number): AskedTokens {
  const [promptTokens, outputTokens] = [tokens[2 * index], tokens[2 * index + 1]];
  if (promptTokens === undefined || outputTokens === undefined) throw new Error(`there is no request ${index}`);
  return { index, promptTokens, outputTokens };
}

/** The body of the request with this index. */
export function bodyOfShared(
  { bodies, specs }: SharedRequests,
  index: number,
  bodyOf: (spec: RequestSpec) => string,
): Buffer {
  const ready = bodies.starts.length - 1;
  if (index < ready) return textAt(bodies, index);
  return Buffer.from(bodyOf(JSON.parse(textAt(specs, index - ready).toString())));
}

/** Shares a text for each item, up to `most` bytes. */
function shareTexts<T>(items: readonly T[], textOf: (item: T) => string, most = Number.POSITIVE_INFINITY): SharedTexts {
  let memory: Buffer = Buffer.from(new SharedArrayBuffer(1 << 16));
  const starts = new Float64Array(new SharedArrayBuffer((items.length + 1) * Float64Array.BYTES_PER_ELEMENT));
  let count = 0;
  let end = 0;
  for (const item of items) {
    const text = textOf(item);
    const length = Buffer.byteLength(text);
    if (end + length > most) break;
    if (end + length > memory.length) memory = enlarged(memory, end, (end + length) * 2);
    memory.write(text, end);
    end += length;
    starts[++count] = end;
  }
  return { bytes: memory.buffer as SharedArrayBuffer, starts: starts.subarray(0, count + 1) };
}

function enlarged(memory: Buffer, used: number, size: number): Buffer {
  const larger = Buffer.from(new SharedArrayBuffer(size));
  memory.copy(larger, 0, 0, used);
  return larger;
}

function textAt({ bytes, starts }: SharedTexts, i: number): Buffer {
  const [start, end] = [starts[i], starts[i + 1]];
  if (start === undefined || end === undefined) throw new Error('there is no such request');
  return Buffer.from(bytes, start, end - start);
}
