import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Fetched,
  type FetchOptions,
  fetchDataset,
  fetchedDataset,
  published,
} from '../../src/datasets/kept/fetch.ts';
import { ServetuneError } from '../../src/kit/errors.ts';
import { freePort } from '../../src/processes/ports.ts';
import { conversationsFile, fileServer, serveFile, sha256 } from './file-server.ts';

const content = conversationsFile(300_000);
const changed = conversationsFile(300_000, 'changed');
const emptyCache = (): string => mkdtempSync(join(tmpdir(), 'servetune-fetch-'));
const signal = new AbortController().signal;

const fetchFrom = (url: string, cacheDir: string, more: Partial<FetchOptions> = {}): Promise<Fetched> =>
  fetchDataset('sharegpt', { cacheDir, url, signal, retryWaitS: 0.001, ...more });

/** Code, message and hint of what a fetch failed with; always the user's to mend. */
async function failureOf(fetching: Promise<unknown>): Promise<{ code: string; text: string }> {
  const error = await fetching.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServetuneError)) throw error ?? new Error('it did not fail');
  expect(error.exitCode).toBe(2);
  return { code: error.code, text: `${error.message}\n${error.hint}` };
}

const pathIn = (cacheDir: string): string => join(cacheDir, 'datasets', 'sharegpt', published.sharegpt.fileName);
const rest = (cacheDir: string): boolean =>
  existsSync(`${pathIn(cacheDir)}.part`) || existsSync(`${pathIn(cacheDir)}.part.json`);

describe('fetchDataset', () => {
  it('downloads once, and knows the file from then on', async () => {
    await using server = await fileServer(serveFile(content));
    const cacheDir = emptyCache();
    expect(await fetchedDataset(cacheDir, 'sharegpt')).toBeNull();
    const seen: (number | null)[][] = [];
    const first = await fetchFrom(server.url, cacheDir, { onProgress: (...progress) => seen.push(progress) });
    const { path } = first;
    expect(first).toEqual({ path, bytes: content.byteLength, sha256: sha256(content), fresh: true, original: false });
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(seen.at(-1)).toEqual([content.byteLength, content.byteLength]);
    expect(rest(cacheDir)).toBe(false);
    expect(await fetchedDataset(cacheDir, 'sharegpt')).toBe(path);

    expect(await fetchFrom(server.url, cacheDir)).toEqual({ ...first, fresh: false });
    expect(await fetchFrom(server.url, cacheDir, { verify: true })).toEqual({ ...first, fresh: false });
    expect(server.asked).toHaveLength(1);
  });

  it('follows redirects', async () => {
    await using server = await fileServer(
      (_, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
      serveFile(content),
    );
    expect((await fetchFrom(server.url, emptyCache())).sha256).toBe(sha256(content));
  });

  it('takes a body whose length is not told', async () => {
    await using server = await fileServer(serveFile(content, { length: 'none' }));
    expect((await fetchFrom(server.url, emptyCache())).sha256).toBe(sha256(content));
  });

  it('goes on where the connection broke off, under the condition that the file is the same', async () => {
    await using server = await fileServer(serveFile(content, { breakAfter: 100_000 }), serveFile(content));
    expect((await fetchFrom(server.url, emptyCache())).sha256).toBe(sha256(content));
    const { range, 'if-range': ifRange } = server.asked[1] ?? {};
    expect(range).toMatch(/^bytes=[1-9]\d*-$/);
    expect(ifRange).toMatch(/^"/);
  });

  it('goes on in a later call, after an abort', async () => {
    await using server = await fileServer((request, response) =>
      serveFile(content, server.asked.length === 1 ? { breakAfter: 200_000 } : {})(request, response),
    );
    const cacheDir = emptyCache();
    const stop = new AbortController();
    const onProgress = (bytes: number): void => {
      if (bytes > 50_000) stop.abort(new Error('enough'));
    };
    await expect(fetchFrom(server.url, cacheDir, { signal: stop.signal, onProgress })).rejects.toThrow('enough');
    expect(rest(cacheDir)).toBe(true);
    expect(await fetchedDataset(cacheDir, 'sharegpt')).toBeNull();
    expect((await fetchFrom(server.url, cacheDir)).sha256).toBe(sha256(content));
    expect(server.asked[1]?.range).toMatch(/^bytes=[1-9]\d*-$/);
    expect(rest(cacheDir)).toBe(false);
  });

  it.each([
    ['ignores ranges', serveFile(content, { ignoreRange: true }), content],
    ['has another file now', serveFile(changed), changed],
    [
      'answers with another range',
      (_: unknown, response: { writeHead(status: number, headers: object): { end(body: Buffer): void } }) =>
        response.writeHead(206, { 'content-range': 'bytes 7-9/10' }).end(Buffer.from('abc')),
      content,
    ],
    [
      'has no such range',
      (_: unknown, response: { writeHead(status: number, headers: object): { end(): void } }) =>
        response.writeHead(416, { 'content-range': 'bytes */10' }).end(),
      content,
    ],
  ] as const)('begins anew where the server %s', async (_, second, expected) => {
    await using server = await fileServer(
      serveFile(content, { breakAfter: 100_000 }),
      second as ReturnType<typeof serveFile>,
      serveFile(content),
    );
    const { path } = await fetchFrom(server.url, emptyCache());
    expect(readFileSync(path).equals(expected)).toBe(true);
  });

  it('gives the whole file wherever connections break off', async () => {
    const small = content.subarray(0, 20_000);
    const whole = Buffer.concat([small, Buffer.from(']')]);
    const flaw = fc.record({ breakAfter: fc.nat(20_000), ignoreRange: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(flaw, { maxLength: 4 }), async (flaws) => {
        await using server = await fileServer(...flaws.map((one) => serveFile(whole, one)), serveFile(whole));
        const cacheDir = emptyCache();
        const { path } = await fetchFrom(server.url, cacheDir);
        expect(readFileSync(path).equals(whole)).toBe(true);
        rmSync(cacheDir, { recursive: true });
      }),
      { numRuns: 15 },
    );
  }, 60_000);

  it('gives up on a server that never sends as much as it says', async () => {
    await using server = await fileServer((_, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('[1, 2,');
      setTimeout(() => response.destroy(), 5);
    });
    const { code, text } = await failureOf(fetchFrom(server.url, emptyCache()));
    expect(code).toBe('download_failed');
    expect(text).toMatch(/broke off 5 times[\s\S]*run the command again[\s\S]*--dataset-path/);
  });

  it('refuses a file that is cut off although the server says that it is whole', async () => {
    await using server = await fileServer(serveFile(content.subarray(0, 1000)));
    const cacheDir = emptyCache();
    const { code, text } = await failureOf(fetchFrom(server.url, cacheDir));
    expect(code).toBe('not_json');
    expect(text).toContain('cut off after 1000 bytes');
    expect(rest(cacheDir)).toBe(false);
  });

  it.each([
    ['text/html; charset=utf-8', '<html>please log in</html>', 'web page'],
    ['application/json', '\n<!doctype html>', 'web page'],
    ['application/json', '{"error": "no"}', 'other than a JSON array: {"error"'],
    ['text/plain', '', 'other than a JSON array'],
  ])('refuses %s with %j', async (type, body, words) => {
    await using server = await fileServer(serveFile(Buffer.from(body), { headers: { 'content-type': type } }));
    const { code, text } = await failureOf(fetchFrom(server.url, emptyCache()));
    expect(code).toBe('not_json');
    expect(text).toContain(words);
    expect(text).toContain('--dataset-path');
  });

  it('says what status was answered', async () => {
    await using server = await fileServer((_, response) => response.writeHead(404).end('not here'));
    const { code, text } = await failureOf(fetchFrom(server.url, emptyCache()));
    expect(code).toBe('http_error');
    expect(text).toMatch(/answered 404[\s\S]*--dataset-path/);
    expect(server.asked).toHaveLength(1);
  });

  it('tries a server again that is in trouble', async () => {
    await using server = await fileServer((_, response) => response.writeHead(503).end(), serveFile(content));
    expect((await fetchFrom(server.url, emptyCache())).sha256).toBe(sha256(content));
  });

  it('says so at once when there is no network', async () => {
    const { code, text } = await failureOf(fetchFrom(`http://127.0.0.1:${await freePort()}/`, emptyCache()));
    expect(code).toBe('no_network');
    expect(text).toMatch(/ECONNREFUSED[\s\S]*--dataset-path/);
  });

  // Linux has a disk that is always full.
  if (existsSync('/dev/full')) {
    it('says that the disk is full', async () => {
      await using server = await fileServer(serveFile(content));
      const cacheDir = emptyCache();
      mkdirSync(dirname(pathIn(cacheDir)), { recursive: true });
      symlinkSync('/dev/full', `${pathIn(cacheDir)}.part`);
      const { code, text } = await failureOf(fetchFrom(server.url, cacheDir));
      expect(code).toBe('disk_full');
      expect(text).toMatch(/is full[\s\S]*SERVETUNE_CACHE[\s\S]*--dataset-path/);
    });
  }

  it('refuses a file that the disk cannot hold before it is downloaded', async () => {
    await using server = await fileServer(serveFile(content, { length: 2 ** 52, breakAfter: 1000 }));
    expect((await failureOf(fetchFrom(server.url, emptyCache()))).code).toBe('disk_full');
  });

  it('does not take just any file from the hub', async () => {
    await using server = await fileServer(serveFile(content));
    const cacheDir = emptyCache();
    const endpoint = `${new URL(server.url).origin}/`;
    const { code, text } = await failureOf(fetchDataset('sharegpt', { cacheDir, endpoint, signal }));
    expect(code).toBe('dataset_changed');
    expect(text).toContain(sha256(content));
    expect(text).toContain(published.sharegpt.sha256);
    expect(await fetchedDataset(cacheDir, 'sharegpt')).toBeNull();
  });

  it('fetches again what was damaged, and holds the address to its first content', async () => {
    await using server = await fileServer(serveFile(content), serveFile(content), serveFile(changed));
    const cacheDir = emptyCache();
    const { path } = await fetchFrom(server.url, cacheDir);
    writeFileSync(path, content.subarray(0, 1000));
    expect(await fetchedDataset(cacheDir, 'sharegpt')).toBeNull();
    expect((await fetchFrom(server.url, cacheDir)).fresh).toBe(true);

    rmSync(path);
    const { code, text } = await failureOf(fetchFrom(server.url, cacheDir));
    expect(code).toBe('dataset_changed');
    expect(text).toContain(sha256(content));
    expect(text).toContain(sha256(changed));
    rmSync(`${path}.record.json`);
    expect((await fetchFrom(server.url, cacheDir)).sha256).toBe(sha256(changed));
  });

  it('finds a changed byte when told to verify', async () => {
    await using server = await fileServer(serveFile(content));
    const cacheDir = emptyCache();
    const { path } = await fetchFrom(server.url, cacheDir);
    const other = Buffer.from(content);
    other[5000] = (other[5000] as number) ^ 1;
    writeFileSync(path, other);
    expect((await fetchFrom(server.url, cacheDir)).fresh).toBe(false);
    const { code, text } = await failureOf(fetchFrom(server.url, cacheDir, { verify: true }));
    expect(code).toBe('dataset_changed');
    expect(text).toContain(sha256(content));
    expect(text).toContain(sha256(other));
  });

  it('lets one download at a time work on a file', async () => {
    await using server = await fileServer(serveFile(content));
    const cacheDir = emptyCache();
    const both = await Promise.allSettled([fetchFrom(server.url, cacheDir), fetchFrom(server.url, cacheDir)]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const refused = both.find((one) => one.status === 'rejected');
    expect((await failureOf(Promise.reject(refused?.reason))).text).toContain('in use by process');
    expect((await fetchFrom(server.url, cacheDir)).sha256).toBe(sha256(content));
  });
});
