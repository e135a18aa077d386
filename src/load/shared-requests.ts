import { InputError } from '../kit/errors.ts';
import type { RequestSpec } from '../records/request.ts';

/** Memory for request bodies that are made ready before the clock starts. */
const mostReady = 64 << 20;
/** Memory for all the others: what one piece can have. */
const mostShared = 2 ** 32 - 1;
/** A piece of memory grows by this much, bytes. */
const growth = 1 << 20;

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
  readonly tokens: Int32Array;
  /** The bodies of the first ones, ready to be sent. */
  readonly bodies: SharedTexts;
  /** Of the others, as JSON, what is still needed to make theirs. */
  readonly needs: SharedTexts;
}

/**
 * Shares requests out to threads. The bodies of the first `ready` are made now, as many as fit into 64 MiB: making them
 * would hold a burst up. Throws an InputError when the requests are more than can be shared.
 */
export function shareRequests(
  requests: readonly RequestSpec[],
  ready: number,
  bodyOf: (spec: RequestSpec) => string,
): SharedRequests {
  const tokens = new Int32Array(new SharedArrayBuffer(requests.length * 2 * Int32Array.BYTES_PER_ELEMENT));
  for (const [i, { promptTokens, outputTokens }] of requests.entries()) tokens.set([promptTokens, outputTokens], 2 * i);
  const bodies = shareTexts(requests.slice(0, ready), bodyOf, mostReady);
  const others = requests.slice(bodies.starts.length - 1);
  const needs = shareTexts(others, ({ prompt, model }) =>
    JSON.stringify(model === undefined ? [prompt] : [prompt, model]),
  );
  if (needs.starts.length <= others.length) {
    throw new InputError([
      {
        place: '--num-prompts',
        message: 'the prompts take more than 4 GiB of memory',
        hint: 'send fewer, or shorter ones',
      },
    ]);
  }
  return { tokens, bodies, needs };
}

/** Of the request with this index. */
export function tokensAsked({ tokens }: SharedRequests, index: number): AskedTokens {
  const [promptTokens, outputTokens] = [tokens[2 * index], tokens[2 * index + 1]];
  if (promptTokens === undefined || outputTokens === undefined) throw new Error(`there is no request ${index}`);
  return { index, promptTokens, outputTokens };
}

/** The body of the request with this index. */
export function bodyOfShared(requests: SharedRequests, index: number, bodyOf: (spec: RequestSpec) => string): Buffer {
  const { bodies, needs } = requests;
  const ready = bodies.starts.length - 1;
  if (index < ready) return textAt(bodies, index);
  const [prompt, model]: [string, string?] = JSON.parse(textAt(needs, index - ready).toString());
  const spec = { ...tokensAsked(requests, index), prompt, ...(model === undefined ? {} : { model }) };
  return Buffer.from(bodyOf(spec));
}

/** Shares a text for each item, up to `most` bytes. */
function shareTexts<T>(items: readonly T[], textOf: (item: T) => string, most = mostShared): SharedTexts {
  // It grows in place: a copy of what may be hundreds of megabytes would be too much.
  const bytes = new SharedArrayBuffer(0, { maxByteLength: most });
  let memory = Buffer.from(bytes);
  const starts = new Float64Array(new SharedArrayBuffer((items.length + 1) * Float64Array.BYTES_PER_ELEMENT));
  let count = 0;
  let end = 0;
  for (const item of items) {
    const text = textOf(item);
    const length = Buffer.byteLength(text);
    if (end + length > most) break;
    if (end + length > memory.length) {
      bytes.grow(Math.min(most, end + Math.max(length, growth)));
      memory = Buffer.from(bytes);
    }
    memory.write(text, end);
    end += length;
    starts[++count] = end;
  }
  return { bytes, starts: starts.subarray(0, count + 1) };
}

function textAt({ bytes, starts }: SharedTexts, i: number): Buffer {
  const [start, end] = [starts[i], starts[i + 1]];
  if (start === undefined || end === undefined) throw new Error('there is no such request');
  return Buffer.from(bytes, start, end - start);
}
