import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');
export const gitBlob = (content: Uint8Array): string =>
  createHash('sha1').update(`blob ${content.byteLength}\0`).update(content).digest('hex');
/** The same bytes for the same seed, and no two alike. */
export const noise = (bytes: number, seed: string): Buffer => {
  const blocks: Buffer[] = [];
  for (let i = 0; i * 64 < bytes; i++) blocks.push(createHash('sha512').update(`${seed} ${i}`).digest());
  return Buffer.concat(blocks).subarray(0, bytes);
};

export interface StandInModel {
  readonly commit: string;
  /** Of one with terms to accept; the listing is open to all. */
  readonly gated?: 'auto';
  /** Listed for the owner of the token only. */
  readonly private?: boolean;
  readonly files: Readonly<Record<string, Buffer>>;
  /** Listed in place of the true sizes. */
  readonly sizes?: Readonly<Record<string, number>>;
}

export interface Asked {
  readonly method: string;
  readonly host: 'hub' | 'cdn';
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** What goes wrong with the next answers that carry a file's content, each once. */
export interface Flaw {
  readonly breakAfter?: number;
  readonly content?: Buffer;
  readonly status?: number;
  /** Between pieces of 64 KiB, seconds. */
  readonly slowS?: number;
}

export interface StandInHub extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  readonly flaws: Map<string, Flaw[]>;
}

/** Files of this size and above are kept apart from the hub, as Git LFS has it. */
const large = 10_000;

/**
 * A hub on loopback that answers as huggingface.co does: large files are redirected to another host, nobody's request
 * for a private model is answered with 401, and a gated one's files want the token. Beside it ModelScope's two routes.
 */
export async function standInHub(
  models: Readonly<Record<string, StandInModel>>,
  token = 'hf_secret',
): Promise<StandInHub> {
  const asked: Asked[] = [];
  const flaws = new Map<string, Flaw[]>();
  const serve = (host: 'hub' | 'cdn', answer: (request: IncomingMessage, response: ServerResponse, url: URL) => void) =>
    createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://x');
      asked.push({
        method: request.method ?? '',
        host,
        path: decodeURIComponent(url.pathname),
        headers: request.headers,
      });
      answer(request, response, url);
    });
  const send = (request: IncomingMessage, response: ServerResponse, path: string, content: Buffer): void => {
    const flaw = request.method === 'GET' ? (flaws.get(path)?.shift() ?? {}) : {};
    if (flaw.status !== undefined) return void response.writeHead(flaw.status).end();
    void sendFile(request, response, flaw.content ?? content, flaw);
  };

  const cdn = serve('cdn', (request, response, url) => {
    const [, wanted] = url.pathname.split('/');
    for (const model of Object.values(models)) {
      for (const [path, content] of Object.entries(model.files)) {
        if (sha256(content) === wanted) return send(request, response, path, content);
      }
    }
    response.writeHead(404).end();
  });
  await listening(cdn, 'localhost');

  const hub = serve('hub', (request, response, url) => {
    const known = request.headers.authorization === `Bearer ${token}`;
    const refuse = (status: number, code: string): void =>
      void response.writeHead(status, { 'x-error-code': code }).end();
    const [, apiId, apiRevision] = /^\/api\/models\/(.+)\/revision\/([^/]+)$/.exec(url.pathname) ?? [];
    const [, fileId, fileRevision, path] = /^\/(.+?)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname) ?? [];
    const [, scopeId, route] = /^\/api\/v1\/models\/(.+?)\/repo(\/files)?$/.exec(url.pathname) ?? [];
    const model = models[apiId ?? fileId ?? scopeId ?? ''];
    if (model === undefined || (model.private && !known)) return refuse(known ? 404 : 401, 'RepoNotFound');
    const revision = decodeURIComponent(apiRevision ?? fileRevision ?? 'main');
    if (![model.commit, 'main', 'refs/pr/1'].includes(revision)) return refuse(404, 'RevisionNotFound');
    if (scopeId !== undefined) {
      if (url.searchParams.get('Revision') !== 'master') return void response.writeHead(404).end();
      if (route !== undefined) return json(response, { Code: 200, Data: { Files: scopeFiles(model) } });
      const content = model.files[url.searchParams.get('FilePath') ?? ''];
      if (content === undefined) return void response.writeHead(404).end();
      return send(request, response, url.searchParams.get('FilePath') ?? '', content);
    }
    if (path === undefined) return json(response, listing(apiId ?? '', model));
    if (model.gated && !known) return refuse(request.headers.authorization === undefined ? 401 : 403, 'GatedRepo');
    const content = model.files[decodeURIComponent(path)];
    if (content === undefined) return refuse(404, 'EntryNotFound');
    if (content.byteLength < large) return send(request, response, decodeURIComponent(path), content);
    response.writeHead(302, { location: `http://localhost:${portOf(cdn)}/${sha256(content)}` }).end();
  });
  await listening(hub, '127.0.0.1');

  return {
    url: `http://127.0.0.1:${portOf(hub)}`,
    asked,
    flaws,
    async [Symbol.asyncDispose]() {
      for (const server of [hub, cdn]) {
        server.closeAllConnections();
        await new Promise((done) => server.close(done));
      }
    },
  };
}

const listing = (id: string, { commit, gated, files, sizes = {} }: StandInModel): object => ({
  id,
  sha: commit,
  private: false,
  gated: gated ?? false,
  siblings: Object.entries(files).map(([rfilename, content]) => ({
    rfilename,
    size: sizes[rfilename] ?? content.byteLength,
    blobId: gitBlob(content),
    ...(content.byteLength < large
      ? {}
      : { lfs: { sha256: sha256(content), size: content.byteLength, pointerSize: 134 } }),
  })),
});

const scopeFiles = ({ files }: StandInModel): readonly object[] => [
  { Path: 'a-folder', Name: 'a-folder', Size: 0, Type: 'tree', Sha256: '', Revision: 'abc' },
  ...Object.entries(files).map(([path, content]) => ({
    Path: path,
    Name: path.split('/').at(-1),
    Size: content.byteLength,
    Type: 'blob',
    Sha256: sha256(content),
    Revision: 'abc',
  })),
];

async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  content: Buffer,
  flaw: Flaw,
): Promise<void> {
  const { range } = request.headers;
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  const body = content.subarray(from);
  response.writeHead(range === undefined ? 200 : 206, {
    etag: `"${sha256(content).slice(0, 20)}"`,
    'content-length': body.byteLength,
    ...(range === undefined
      ? {}
      : { 'content-range': `bytes ${from}-${content.byteLength - 1}/${content.byteLength}` }),
  });
  if (request.method === 'HEAD') return void response.end();
  const end = Math.min(flaw.breakAfter ?? body.byteLength, body.byteLength);
  for (let at = 0; at < end; at += 65_536) {
    response.write(body.subarray(at, Math.min(at + 65_536, end)));
    if (flaw.slowS !== undefined) await new Promise((done) => setTimeout(done, (flaw.slowS ?? 0) * 1000));
  }
  // What was written is let out before the connection is cut.
  if (end < body.byteLength) setTimeout(() => response.destroy(), 20);
  else response.end();
}

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

type Server = ReturnType<typeof createServer>;
const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const listening = (server: Server, host: string): Promise<void> =>
  new Promise((done) => {
    server.listen(0, host, done);
  });
