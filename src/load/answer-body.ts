import type { ResponseHead } from './transport.ts';

/** Most bytes kept of a body that is not a stream of events. */
const mostKept = 4 << 20;

/** The beginning of a body, kept for what it may be needed for: it is no stream, or an error that shall be told. */
export class KeptBody {
  #chunks: Buffer[] = [];
  /** Bytes that came, whether they were kept or not. */
  length = 0;

  /** Copies what there is still room for. */
  keep(chunk: Buffer, most = mostKept): void {
    if (this.length >= most) return;
    this.#chunks.push(Buffer.from(chunk.subarray(0, most - this.length)));
    this.length += chunk.length;
  }

  /** Gives the memory back; the length stays. */
  forget(): void {
    this.#chunks = [];
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8').trim();
  }
}

/**
 * Judged by the bytes, since gateways send streams under any content type: JSON begins with a brace or a bracket, and
 * no line of a stream does. Undefined where there is nothing but white space so far.
 */
export function looksLikeStream(read: Buffer, start: number, end: number): boolean | undefined {
  for (let at = start; at < end; at++) {
    const byte = read[at];
    if (byte === 0x7b || byte === 0x5b) return false;
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return true;
  }
  return undefined;
}

/** What a status other than 200 says: the message that the dialect finds in the body, else the body as it is. */
export function httpError(
  head: ResponseHead | undefined,
  body: string,
  messageIn: (body: unknown) => string | undefined,
): string {
  const said = `HTTP ${head?.status} ${head?.statusText ?? ''}`.trimEnd();
  if (head?.location !== undefined) return `${said}: redirects to ${head.location}; give that address instead`;
  if (body === '') return said;
  let message: string | undefined;
  try {
    message = messageIn(JSON.parse(body));
  } catch {
    // Not JSON: shown as it is.
  }
  return `${said}: ${message ?? quoted(head, body)}`;
}

/** A body as a message quotes it: a compressed one says nothing but how it came. */
export const quoted = (head: ResponseHead | undefined, body: string, most?: number): string =>
  head?.encoding === undefined
    ? clip(body, most)
    : `the body is compressed, unasked (content-encoding: ${head.encoding})`;

export const clip = (text: string, most = 500): string => (text.length > most ? `${text.slice(0, most)}...` : text);

/** `1 token event`, `2 token events`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
