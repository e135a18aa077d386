import type { ResponseHead } from './transport.ts';

/** What the bytes of one response say, told as they come. */
export interface ResponseSink {
  head(head: ResponseHead): void;
  /** Some bytes of the body, from `start` up to `end` of what was read; they are valid only during the call. */
  body(bytes: Buffer, start: number, end: number): void;
  /** The response is complete. */
  complete(): void;
}

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;

/** Longer than any server's; what is longer is no response. */
const longestHead = 256 << 10;
const largestChunk = 2 ** 40;

/** Numbers, since they are compared for every event. */
const HEAD = 0;
/** A body of known length. */
const LENGTH = 1;
/** A body that ends with the connection. */
const UNTIL_CLOSE = 2;
const CHUNK_SIZE = 3;
/** What follows the size of a chunk on its line. */
const CHUNK_EXTENSION = 4;
const CHUNK_DATA = 5;
/** The line end behind a chunk. */
const CHUNK_END = 6;
const TRAILER = 7;
const COMPLETE = 8;

/**
 * Reads one HTTP/1.1 response after another from the bytes of a connection, cut anywhere: heads (interim ones are
 * skipped), bodies of known length, chunked ones and ones that end with the connection. Body bytes are passed on without
 * being copied. `push` throws an Error for what is not HTTP.
 */
export class ResponseReader {
  #state = HEAD;
  /** Of a head: its beginning, while its end has not come. */
  #held: Buffer | undefined;
  /** Bytes left of the body or chunk; of a size that is being read, its value so far. */
  #left = 0;
  #digits = 0;
  /** Characters on the current line of the trailer. */
  #lineLength = 0;
  #keepAlive = false;

  /** The connection may carry another request: the response is complete, and neither side announced its end. */
  get reusable(): boolean {
    return this.#state === COMPLETE && this.#keepAlive;
  }

  /** Gets ready for the next response of the connection. */
  reset(): void {
    this.#state = HEAD;
    this.#held = undefined;
  }

  /**
   * Reads on: `bytes` from `start` up to `end`. Bytes that follow a complete response belong to none, so the connection is
   * not reusable then.
   */
  push(bytes: Buffer, start: number, end: number, sink: ResponseSink): void {
    let at = start;
    while (at < end) {
      switch (this.#state) {
        case HEAD:
          at = this.#head(bytes, at, end, sink);
          break;
        case CHUNK_DATA:
        case LENGTH:
          at = this.#data(bytes, at, end, sink);
          break;
        case UNTIL_CLOSE:
          sink.body(bytes, at, end);
          return;
        case CHUNK_SIZE:
        case CHUNK_EXTENSION:
          at = this.#size(bytes, at, end);
          break;
        case CHUNK_END:
          if (bytes[at] === LF) this.#toSize();
          else if (bytes[at] !== CR) throw new Error('a chunk of the body is longer than it says');
          at++;
          break;
        case TRAILER:
          at = this.#trailer(bytes, at, end, sink);
          break;
        case COMPLETE:
          this.#keepAlive = false;
          return;
      }
    }
  }

  /** The connection ended: true when that is how the body ends. */
  endsHere(): boolean {
    if (this.#state !== UNTIL_CLOSE) return false;
    this.#state = COMPLETE;
    return true;
  }

  #data(bytes: Buffer, at: number, end: number, sink: ResponseSink): number {
    const stop = Math.min(end, at + this.#left);
    this.#left -= stop - at;
    // The state moves first: the sink may look at it.
    const isLast = this.#left === 0 && this.#state === LENGTH;
    if (this.#left === 0) this.#state = isLast ? COMPLETE : CHUNK_END;
    sink.body(bytes, at, stop);
    if (isLast) sink.complete();
    return stop;
  }

  #toSize(): void {
    this.#state = CHUNK_SIZE;
    this.#left = 0;
    this.#digits = 0;
  }

  #size(bytes: Buffer, from: number, end: number): number {
    for (let at = from; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === LF) {
        if (this.#digits === 0) throw new Error('a chunk of the body has no size');
        if (this.#left === 0) {
          this.#state = TRAILER;
          this.#lineLength = 0;
        } else this.#state = CHUNK_DATA;
        return at + 1;
      }
      if (this.#state === CHUNK_EXTENSION || byte === CR) continue;
      const digit = hexDigit(byte);
      if (digit >= 0) {
        this.#left = this.#left * 16 + digit;
        this.#digits++;
        if (this.#left > largestChunk) throw new Error('a chunk of the body is impossibly large');
      } else if (byte === SEMICOLON || byte === 0x20 || byte === 0x09) this.#state = CHUNK_EXTENSION;
      else throw new Error('the size of a chunk of the body is not a number');
    }
    return end;
  }

  #trailer(bytes: Buffer, from: number, end: number, sink: ResponseSink): number {
    for (let at = from; at < end; at++) {
      const byte = bytes[at];
      if (byte === LF) {
        if (this.#lineLength === 0) {
          this.#state = COMPLETE;
          // Something more than a response is on the line: whose it is, nobody knows.
          if (at + 1 < end) this.#keepAlive = false;
          sink.complete();
          return end;
        }
        this.#lineLength = 0;
      } else if (byte !== CR) this.#lineLength++;
    }
    return end;
  }

  #head(bytes: Buffer, from: number, end: number, sink: ResponseSink): number {
    const before = this.#held?.length ?? 0;
    const come = bytes.subarray(from, end);
    const all = this.#held ? Buffer.concat([this.#held, come]) : come;
    // Line ends before a response are allowed.
    let start = 0;
    while (start < all.length && (all[start] === CR || all[start] === LF)) start++;
    const stop = headEnd(all, start);
    if (stop < 0) {
      if (all.length > longestHead) throw new Error('the head of the response does not end');
      // The connection's buffer is read into again.
      this.#held = Buffer.from(all);
      return end;
    }
    this.#held = undefined;
    this.#start(all.toString('latin1', start, stop), sink);
    return from + stop - before;
  }

  #start(text: string, sink: ResponseSink): void {
    if (lastHead.text !== text) lastHead = { text, parsed: parseHead(text) };
    const { parsed } = lastHead;
    // An interim one: the response itself follows.
    if (parsed === undefined) return;
    this.#keepAlive = parsed.keepAlive;
    this.#digits = 0;
    this.#state = parsed.state;
    this.#left = parsed.length;
    sink.head(parsed.head);
    if (this.#state === COMPLETE) sink.complete();
  }
}

interface ParsedHead {
  readonly head: ResponseHead;
  readonly keepAlive: boolean;
  /** Of the reader, behind the head. */
  readonly state: number;
  /** Of the body, where it is known; else 0. */
  readonly length: number;
}

/** A thousand answers to a burst begin with the same head, or with one of few. */
let lastHead: { readonly text: string; readonly parsed: ParsedHead | undefined } = { text: '', parsed: undefined };

/** What a head says; undefined for an interim one (100 Continue and its like). Throws an Error for what is none. */
function parseHead(text: string): ParsedHead | undefined {
  const [first = '', ...lines] = text.split(/\r?\n/);
  const status = /^HTTP\/1\.([01]) (\d{3})(?: (.*))?$/.exec(first);
  if (!status) throw new Error(`what answers there does not speak HTTP/1.1: ${JSON.stringify(first.slice(0, 80))}`);
  const code = Number(status[2]);
  if (code >= 100 && code < 200 && code !== 101) return undefined;
  const headers = headersOf(lines);
  const connection = headers.get('connection')?.toLowerCase() ?? '';
  const keepAlive = status[1] === '1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection);
  const location = headers.get('location');
  const content = headers.get('content-encoding')?.toLowerCase() ?? 'identity';
  const head = {
    status: code,
    statusText: status[3] ?? '',
    ...(location === undefined ? {} : { location }),
    ...(content === 'identity' || content === '' ? {} : { encoding: content }),
  };
  const encoding = headers.get('transfer-encoding')?.toLowerCase() ?? '';
  const length = headers.get('content-length');
  if (/\bchunked\b/.test(encoding)) return { head, keepAlive, state: CHUNK_SIZE, length: 0 };
  if (code === 204 || code === 304) return { head, keepAlive, state: COMPLETE, length: 0 };
  if (length === undefined) return { head, keepAlive: false, state: UNTIL_CLOSE, length: 0 };
  const bytes = Number(length.split(',')[0]);
  if (!Number.isSafeInteger(bytes) || bytes < 0)
    throw new Error(`the response has the length ${JSON.stringify(length)}`);
  return { head, keepAlive, state: bytes === 0 ? COMPLETE : LENGTH, length: bytes };
}

function headersOf(lines: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    const known = headers.get(name);
    headers.set(name, known === undefined ? value : `${known}, ${value}`);
  }
  return headers;
}

/** Where the head that begins at `start` ends, its empty line included; -1 while it does not. */
function headEnd(bytes: Buffer, start: number): number {
  for (let lf = bytes.indexOf(LF, start); lf >= 0; lf = bytes.indexOf(LF, lf + 1)) {
    if (bytes[lf + 1] === LF) return lf + 2;
    if (bytes[lf + 1] === CR && bytes[lf + 2] === LF) return lf + 3;
  }
  return -1;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
