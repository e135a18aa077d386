import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FileServer extends AsyncDisposable {
  readonly url: string;
  /** Headers of each request, in order. */
  readonly asked: IncomingHttpHeaders[];
}

/** A real HTTP server on loopback that answers the nth request by the nth function, and all later ones by the last. */
export async function fileServer(
  ...answers: readonly ((request: IncomingMessage, response: ServerResponse) => void)[]
): Promise<FileServer> {
  const asked: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(request.headers);
    answer?.(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/file.json`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export const sha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');

/** An array of conversations as a file, a bit over `bytes` long; `word` makes it another one. */
export function conversationsFile(bytes: number, word = 'word'): Buffer {
  const rows: string[] = [];
  for (let length = 2; length < bytes; length += (rows.at(-1) as string).length + 2) {
    const value = `${word} ${rows.length} `.repeat(20);
    rows.push(JSON.stringify({ id: String(rows.length), conversations: [{ value }, { value: `${value} é` }] }));
  }
  return Buffer.from(`[${rows.join(',\n')}]\n`);
}

export interface Behaviour {
  /** Break the connection off when so many bytes of this answer are out. */
  readonly breakAfter?: number;
  /** Answer a range with the whole file. */
  readonly ignoreRange?: boolean;
  /** Content-Length told, in place of the true one. */
  readonly length?: number | 'none';
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers as a good file server does, but for the behaviour. */
export const serveFile =
  (content: Buffer, { breakAfter, ignoreRange, length, headers = {} }: Behaviour = {}) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const etag = `"${sha256(content).slice(0, 16)}"`;
    const { range, 'if-range': ifRange } = request.headers;
    const from = ignoreRange || ifRange !== etag ? 0 : Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    const body = content.subarray(from);
    const told = length === 'none' ? {} : { 'content-length': length ?? body.byteLength };
    const part = { 'content-range': `bytes ${from}-${content.byteLength - 1}/${content.byteLength}` };
    response.writeHead(from > 0 ? 206 : 200, { etag, ...told, ...(from > 0 ? part : {}), ...headers });
    if (breakAfter === undefined || breakAfter >= body.byteLength) response.end(body);
    else if (breakAfter === 0) response.flushHeaders();
    else response.write(body.subarray(0, breakAfter));
    if (breakAfter !== undefined && breakAfter < body.byteLength) setTimeout(() => response.destroy(), 20);
  };
