import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';

export type Json = Record<string, unknown>;

/** Bytes of a request, so that tests decide on every one of them. */
export function requestBytes(path: string, body: Json | string, headers: readonly string[] = []): Buffer {
  const content = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const head = [`POST ${path} HTTP/1.1`, 'host: x', `content-length: ${content.length}`, ...headers].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), content]);
}

/** Everything that a server says to these bytes until it closes the connection. */
export async function answerTo(port: number, bytes: Buffer | string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(bytes);
  return text(socket);
}

export interface Dechunked {
  readonly status: number;
  readonly sizes: readonly number[];
  readonly body: string;
}

/** Reads one response with chunks, by the letter of the format. */
export function dechunked(raw: string): Dechunked {
  const headEnd = raw.indexOf('\r\n\r\n');
  expect(headEnd).toBeGreaterThan(0);
  const status = Number(raw.split(' ')[1]);
  const sizes: number[] = [];
  let body = '';
  let at = headEnd + 4;
  for (;;) {
    const lineEnd = raw.indexOf('\r\n', at);
    const sizeText = raw.slice(at, lineEnd);
    expect(sizeText).toMatch(/^[0-9a-f]+$/);
    const size = Number.parseInt(sizeText, 16);
    body += raw.slice(lineEnd + 2, lineEnd + 2 + size);
    expect(raw.slice(lineEnd + 2 + size, lineEnd + 4 + size)).toBe('\r\n');
    at = lineEnd + 4 + size;
    if (size === 0) break;
    sizes.push(size);
  }
  expect(raw.slice(at)).toBe('');
  return { status, sizes, body };
}

/** A connection that has sent its bytes and does not read. */
export function deafConnection(port: number, bytes: Buffer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes);
      resolve(socket);
    });
    socket.pause();
    socket.on('error', reject);
  });
}
