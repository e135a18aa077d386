import type { ResponseHead } from './transport.ts';

/** What the bytes of one response say, told as they come. */
export interface ResponseSink {
  head(head: ResponseHead): void;
  /** Some bytes of the body; they are valid only during the call. */
  body(bytes: Buffer): void;
  /** The response is complete. */
  complete(): void;
}

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;

/** Longer than any server's; what is longer is no response. */
const longestHead = 256 << 10;
const largestChunk = 2 ** 40;

type State =
  | 'head'
  /** A body of known length. */
  | 'length'
  /** A body that ends with the connection. */
  | 'until-close'
  | 'chunk-size'
  /** What follows the size of a chunk on its line. */
  | 'chunk-extension'
  | 'chunk-data'
  /** The line end behind a chunk. */
  | 'chunk-end'
  | 'trailer'
  | 'complete';

/**
 * Reads one HTTP/1.1 response after another from the bytes of a connection, cut anywhere: heads (interim ones are
 * skipped), bodies of known length, chunked ones and ones that end with the connection. Body bytes are passed on without
 * being copied. `push` throws an Error for what is not HTTP.
 */
export class ResponseReader {
  #state: State = 'head';
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
    return this.#state === 'complete' && this.#keepAlive;
  }

  /** Gets ready for the next response of the connection. */
  reset(): void {
    this.#state = 'head';
    this.#held = undefined;
  }

  /** Reads on. Bytes that follow a complete response belong to none, so the connection is not reusable then. */
  push(bytes: Buffer, sink: ResponseSink): void {
    let at = 0;
    const end = bytes.length;
    while (at < end) {
      switch (this.#state) {
        case 'head':
          at = this.#head(bytes, at, sink);
          break;
        case 'chunk-data':
        case 'length': {
          const stop = Math.min(end, at + this.#left);
          this.#left -= stop - at;
          // The state moves first: the sink may look at it.
          const last = this.#left === 0;
          if (last) this.#state = this.#state === 'length' ? 'complete' : 'chunk-end';
          sink.body(at === 0 && stop === end ? bytes : bytes.subarray(at, stop));
          if (last && (this.#state as State) === 'complete') sink.complete();
          at = stop;
          break;
        }
        case 'until-close':
          sink.body(at === 0 ? bytes : bytes.subarray(at));
          return;
        case 'chunk-size':
        case 'chunk-extension':
          at = this.#size(bytes, at);
          break;
        case 'chunk-end':
          if (bytes[at] === LF) this.#toSize();
          else if (bytes[at] !== CR) throw new Error('a chunk of the body is longer than it says');
          at++;
          break;
        case 'trailer':
          at = this.#trailer(bytes, at, sink);
          break;
        case 'complete':
          this.#keepAlive = false;
          return;
      }
    }
  }

  /** The connection ended: true when that is how the body ends. */
  endsHere(): boolean {
    if (this.#state !== 'until-close') return false;
    this.#state = 'complete';
    return true;
  }

  #toSize(): void {
    this.#state = 'chunk-size';
    this.#left = 0;
    this.#digits = 0;
  }

  #size(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === LF) {
        if (this.#digits === 0) throw new Error('a chunk of the body has no size');
        if (this.#left === 0) {
          this.#state = 'trailer';
          this.#lineLength = 0;
        } else this.#state = 'chunk-data';
        return at + 1;
      }
      if (this.#state === 'chunk-extension' || byte === CR) continue;
      const digit = hexDigit(byte);
      if (digit >= 0) {
        this.#left = this.#left * 16 + digit;
        this.#digits++;
        if (this.#left > largestChunk) throw new Error('a chunk of the body is impossibly large');
      } else if (byte === SEMICOLON || byte === 0x20 || byte === 0x09) this.#state = 'chunk-extension';
      else throw new Error('the size of a chunk of the body is not a number');
    }
    return bytes.length;
  }

  #trailer(bytes: Buffer, from: number, sink: ResponseSink): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === LF) {
        if (this.#lineLength === 0) {
          this.#state = 'complete';
          // Something more than a response is on the line: whose it is, nobody knows.
          if (at + 1 < bytes.length) this.#keepAlive = false;
          sink.complete();
          return bytes.length;
        }
        this.#lineLength = 0;
      } else if (byte !== CR) this.#lineLength++;
    }
    return bytes.length;
  }

  #head(bytes: Buffer, from: number, sink: ResponseSink): number {
    const before = this.#held?.length ?? 0;
    const all = this.#held ? Buffer.concat([this.#held, bytes.subarray(from)]) : bytes.subarray(from);
    // Line ends before a response are allowed.
    let start = 0;
    while (start < all.length && (all[start] === CR || all[start] === LF)) start++;
    const stop = headEnd(all, start);
    if (stop < 0) {
      if (all.length > longestHead) throw new Error('the head of the response does not end');
      // The connection's buffer is read into again.
      this.#held = Buffer.from(all);
      return bytes.length;
    }
    this.#held = undefined;
    this.#start(all.toString('latin1', start, stop), sink);
    return from + stop - before;
  }

  #start(text: string, sink: ResponseSink): void {
    const [first = '', ...lines] = text.split(/\r?\n/);
    const status = /^HTTP\/1\.([01]) (\d{3})(?: (.*))?$/.exec(first);
    if (!status) throw new Error(`what answers there does not speak HTTP/1.1: ${JSON.stringify(first.slice(0, 80))}`);
    const code = Number(status[2]);
    // 100 Continue and its like: the response itself follows.
    if (code >= 100 && code < 200 && code !== 101) return;
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(':');
      if (colon <= 0) continue;
      const name = line.slice(0, colon).trim().toLowerCase();
      const value = line.slice(colon + 1).trim();
      const known = headers.get(name);
      headers.set(name, known === undefined ? value : `${known}, ${value}`);
    }
    const connection = headers.get('connection')?.toLowerCase() ?? '';
    this.#keepAlive = status[1] === '1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection);
    const encoding = headers.get('transfer-encoding')?.toLowerCase() ?? '';
    const length = headers.get('content-length');
    if (/\bchunked\b/.test(encoding)) this.#toSize();
    else if (code === 204 || code === 304) this.#state = 'complete';
    else if (length === undefined) this.#state = 'until-close';
    else {
      const bytes = Number(length.split(',')[0]);
      if (!Number.isSafeInteger(bytes) || bytes < 0)
        throw new Error(`the response has the length ${JSON.stringify(length)}`);
      this.#left = bytes;
      this.#state = bytes === 0 ? 'complete' : 'length';
    }
    if (this.#state === 'until-close') this.#keepAlive = false;
    const location = headers.get('location');
    sink.head({ status: code, statusText: status[3] ?? '', ...(location === undefined ? {} : { location }) });
    if (this.#state === 'complete') sink.complete();
  }
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
