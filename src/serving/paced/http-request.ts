import { Refusal } from '../refusal.ts';

export interface HttpRequest {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly body: Buffer;
  /** Whether a length was given, be it 0. */
  readonly hasLength: boolean;
  /** Whether the client wants the connection closed after the answer. */
  readonly close: boolean;
}

/** Reads the requests of one connection, one after the other, from pieces of any size. */
export interface RequestReader {
  /**
   * Takes the next bytes; returns a request once it is whole, and is then ready for the next one.
   * Throws a Refusal (400, or 413 for a body over the limit) when it is not HTTP/1.1 as this server speaks it; the
   * connection is of no use after that.
   */
  push(bytes: Buffer): HttpRequest | undefined;
}

const maxHeadBytes = 16 * 1024;
const requestLine = /^([A-Z]+) (\/[^\s?]*)\S* HTTP\/1\.1$/;

interface Head {
  readonly method: string;
  readonly path: string;
  readonly lengthBytes: number | undefined;
  readonly close: boolean;
}

export function newRequestReader(maxBodyBytes: number): RequestReader {
  let pieces: Buffer[] = [];
  let bytesRead = 0;
  let head: Head | undefined;

  const readHead = (): boolean => {
    const bytes = joined(pieces);
    const end = bytes.indexOf('\r\n\r\n');
    if (end > maxHeadBytes || (end < 0 && bytes.length > maxHeadBytes)) {
      throw broken('head_too_large', `the head of the request is larger than ${maxHeadBytes} bytes`);
    }
    if (end < 0) {
      refuseGarbage(bytes);
      pieces = [bytes];
      return false;
    }
    head = parseHead(bytes.toString('latin1', 0, end));
    if ((head.lengthBytes ?? 0) > maxBodyBytes) {
      throw new Refusal(413, 'body_too_large', `the body is larger than ${maxBodyBytes} bytes`);
    }
    pieces = [bytes.subarray(end + 4)];
    bytesRead = bytes.length - end - 4;
    return true;
  };

  return {
    push(bytes) {
      pieces.push(bytes);
      bytesRead += bytes.length;
      if (head === undefined && !readHead()) return undefined;
      const { method, path, lengthBytes, close } = head as Head;
      const missing = (lengthBytes ?? 0) - bytesRead;
      if (missing > 0) return undefined;
      if (missing < 0) throw pipelined();
      const request = { method, path, body: joined(pieces), hasLength: lengthBytes !== undefined, close };
      pieces = [];
      bytesRead = 0;
      head = undefined;
      return request;
    },
  };
}

/** A request that came before the answer to the one before it was over. */
export const pipelined = (): Refusal =>
  broken('pipelined', 'a request came before the answer to the one before it was over, or its length is wrong');

const broken = (code: string, message: string): Refusal => new Refusal(400, code, message);

const joined = (pieces: readonly Buffer[]): Buffer =>
  pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);

/** Whoever speaks another protocol never sends the end of a head: the first line already shows it. */
function refuseGarbage(bytes: Buffer): void {
  const lineEnd = bytes.indexOf('\r\n');
  const line = bytes.toString('latin1', 0, lineEnd < 0 ? Math.min(bytes.length, 16) : lineEnd);
  if (lineEnd < 0 ? !/^[A-Z]+( .*)?$/.test(line) : !requestLine.test(line)) {
    throw broken('not_http', 'this is not a request of HTTP/1.1');
  }
}

function parseHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const [, method, path] = requestLine.exec(first) ?? [];
  if (method === undefined || path === undefined) throw broken('not_http', 'this is not a request of HTTP/1.1');
  let lengthBytes: number | undefined;
  let close = false;
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1) throw broken('bad_header', 'a header has no name');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === 'transfer-encoding') {
      throw broken('no_length', 'bodies are read by their content-length only, not with a transfer-encoding');
    }
    if (name === 'content-length') {
      if (!/^\d{1,15}$/.test(value) || (lengthBytes !== undefined && lengthBytes !== Number(value))) {
        throw broken('bad_length', 'the content-length is no length');
      }
      lengthBytes = Number(value);
    }
    if (name === 'connection' && /\bclose\b/i.test(value)) close = true;
  }
  return { method, path, lengthBytes, close };
}
