import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runToEnd } from '../../src/processes/run.ts';
import { type Checkpoint, unfinished } from '../../src/weights/checkpoint.ts';
import { type DownloadProgress, downloadCheckpoint, type FetchOptions } from '../../src/weights/fetch.ts';
import { resolveCheckpoint } from '../../src/weights/resolve.ts';
import { expectFreshBuild } from '../built.ts';
import { gitBlob, noise, type StandInHub, sha256, standInHub } from './hub.ts';
import { bytesOfTwoParts, commit, emptyFolder, neededOfTwoParts, signal, twoParts, wordsOf } from './models.ts';

const one = 'model-00001-of-00002.safetensors';
const content = (path: string): Buffer => twoParts.files[path] as Buffer;
const startHub = (): Promise<StandInHub> => standInHub({ 'org/two': twoParts });

/** A cache of its own with what the hub lists for it. */
async function place(hub: StandInHub, name = 'org/two') {
  const cache = emptyFolder();
  const environment = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache, HF_TOKEN: 'hf_secret' };
  const checkpoint = await resolveCheckpoint(name, environment, signal);
  const folder = join(cache, 'models--org--two');
  const fetch = (more: Partial<FetchOptions> = {}): Promise<Checkpoint> =>
    downloadCheckpoint(checkpoint, { environment, signal, retryWaitS: 0.001, ...more });
  const blob = (path: string): string => join(folder, 'blobs', sha256(content(path)));
  return { cache, environment, checkpoint, folder, fetch, blob };
}

const expectWhole = (folder: string): void => {
  for (const path of neededOfTwoParts) {
    expect(readFileSync(join(folder, path)).equals(content(path)), path).toBe(true);
  }
};
/** All that lies below a folder, but for locks. */
const lying = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => !name.includes('lock'))
    : [];

describe('downloadCheckpoint', () => {
  it('fills the cache as the hub’s own client does', async () => {
    await using hub = await startHub();
    const { cache, folder, checkpoint, fetch, environment } = await place(hub);
    const seen: DownloadProgress[] = [];
    const done = await fetch({ onProgress: (progress) => seen.push(progress) });
    expectWhole(done.folder);
    expect(done).toMatchObject({ path: join(folder, 'snapshots', commit), missingBytes: 0 });
    expect(readFileSync(join(folder, 'refs/main'), 'utf8')).toBe(commit);
    expect(readlinkSync(join(done.folder, one))).toBe(`../../blobs/${sha256(content(one))}`);
    expect(readlinkSync(join(done.folder, 'nested/copy.safetensors'))).toMatch(
      /^\.\.\/\.\.\/\.\.\/blobs\/[0-9a-f]{64}$/,
    );
    expect(readlinkSync(join(done.folder, 'config.json'))).toBe(`../../blobs/${gitBlob(content('config.json'))}`);
    expect(lying(join(folder, 'blobs')).filter((name) => !/^[0-9a-f]{40,64}$/.test(name))).toEqual([]);
    expect(seen.at(-1)).toMatchObject({ bytes: bytesOfTwoParts, total: bytesOfTwoParts });
    expect(seen.every(({ bytes }, i) => bytes >= (seen[i - 1]?.bytes ?? 0))).toBe(true);
    expect(hub.asked.filter(({ host }) => host === 'cdn')).toHaveLength(3);

    const before = hub.asked.length;
    await downloadCheckpoint(checkpoint, { environment, signal });
    expect(hub.asked.length).toBe(before);
    expect((await resolveCheckpoint('org/two', { ...environment, HF_HUB_OFFLINE: '1' }, signal)).commit).toBe(commit);
    expect(readdirSync(cache).sort()).toEqual(['.locks', 'models--org--two']);
  });

  it('tells the token to the hub and to no other host', async () => {
    await using hub = await startHub();
    const { fetch } = await place(hub);
    await fetch();
    const tellers = new Set(hub.asked.map(({ host, headers }) => `${host} ${headers.authorization}`));
    expect([...tellers].sort()).toEqual(['cdn undefined', 'hub Bearer hf_secret']);
  });

  it('keeps the name of another revision', async () => {
    await using hub = await startHub();
    const { folder, fetch } = await place(hub, 'org/two@refs/pr/1');
    await fetch();
    expect(readFileSync(join(folder, 'refs/refs/pr/1'), 'utf8')).toBe(commit);
    expect(existsSync(join(folder, 'refs/main'))).toBe(false);
  });

  it('goes on where a connection broke', async () => {
    await using hub = await startHub();
    const { fetch } = await place(hub);
    hub.flaws.set(one, [{ breakAfter: 100_000 }, { status: 503 }, { breakAfter: 70_000 }]);
    expectWhole((await fetch()).folder);
    const ranges = hub.asked.filter(({ path, host }) => host === 'cdn' && path.includes(sha256(content(one))));
    expect(ranges.map(({ headers }) => headers.range ?? '')).toEqual([
      '',
      'bytes=100000-',
      'bytes=100000-',
      'bytes=170000-',
    ]);
  });

  it('goes on in a later call after an abort, and nothing half-written counts', async () => {
    await using hub = await startHub();
    const { folder, fetch, blob, environment } = await place(hub);
    hub.flaws.set(one, [{ slowS: 0.02 }]);
    const stop = new AbortController();
    const onProgress = ({ file, bytes }: DownloadProgress): void => {
      if (file === one && bytes > 200_000) stop.abort(new Error('enough'));
    };
    await expect(fetch({ signal: stop.signal, onProgress })).rejects.toThrow('enough');
    expect(existsSync(blob(one))).toBe(false);
    expect(existsSync(join(folder, 'snapshots', commit, one))).toBe(false);
    expect(existsSync(join(folder, 'refs/main'))).toBe(false);
    const kept = statSync(unfinished(blob(one))).size;
    expect(kept).toBeGreaterThan(0);

    const again = await resolveCheckpoint('org/two', environment, signal);
    expect(again.files.find(({ path }) => path === one)?.presentBytes).toBe(kept);
    expectWhole((await downloadCheckpoint(again, { environment, signal })).folder);
    expect(hub.asked.some(({ headers }) => headers.range === `bytes=${kept}-`)).toBe(true);
  });

  it.each([
    [one, 'a large file', /its hash is [0-9a-f]{64}, and should be [0-9a-f]{64}/],
    ['tokenizer.json', 'another large file', /its hash is/],
    ['config.json', 'a small file', /its hash is [0-9a-f]{40}, and should be [0-9a-f]{40}/],
  ])('refuses another content of %s, %s', async (path, _, words) => {
    await using hub = await startHub();
    const { folder, fetch } = await place(hub);
    hub.flaws.set(path, [{ content: noise(content(path).byteLength, 'other') }]);
    expect(await wordsOf(fetch())).toMatch(words);
    expect(lying(join(folder, 'snapshots')).some((name) => name.endsWith(path))).toBe(false);
    expect(lying(folder).filter((name) => name.includes('incomplete'))).toEqual([]);
    expectWhole((await fetch()).folder);
  });

  it('begins anew where what was here before is damaged', async () => {
    await using hub = await startHub();
    const { fetch, blob } = await place(hub);
    mkdirSync(dirname(blob(one)), { recursive: true });
    writeFileSync(unfinished(blob(one)), noise(5000, 'damaged'));
    expectWhole((await fetch()).folder);
    expect(hub.asked.filter(({ headers }) => headers.range !== undefined)).toHaveLength(2); // once at each host
  });

  it('gives up on a file that is always cut off', async () => {
    await using hub = await startHub();
    const { fetch } = await place(hub);
    hub.flaws.set(one, [{ breakAfter: 10 }, ...Array(4).fill({ breakAfter: 0 })]);
    expect(await wordsOf(fetch())).toMatch(
      /download_failed: .* broke off 5 times.*run the command again.*hf download org\/two/,
    );
  });

  it('says so when access was taken away meanwhile', async () => {
    await using hub = await startHub();
    const { fetch } = await place(hub);
    hub.flaws.set(one, [{ status: 403 }]);
    expect(await wordsOf(fetch())).toMatch(/http_error: .* answered 403/);
  });

  it('refuses before it begins what the disk cannot hold', async () => {
    await using hub = await startHub();
    const { checkpoint, folder, environment } = await place(hub);
    const huge = { ...checkpoint, missingBytes: 2 ** 52 };
    expect(await wordsOf(downloadCheckpoint(huge, { environment, signal }))).toMatch(
      /disk_full: 4 PiB.*; make room.*HF_HOME/,
    );
    expect(lying(folder)).toEqual([]);
  });

  it('says where it may not write', async () => {
    await using hub = await startHub();
    const { cache, fetch } = await place(hub);
    writeFileSync(join(cache, '.locks'), 'a file in the way');
    expect(await wordsOf(fetch())).toMatch(/cache_not_writable: /);
  });

  it('links once more to what is in the cache', async () => {
    await using hub = await startHub();
    const { fetch, blob } = await place(hub);
    mkdirSync(dirname(blob(one)), { recursive: true });
    writeFileSync(blob(one), content(one));
    const { folder } = await fetch();
    expect(lstatSync(join(folder, one)).isSymbolicLink()).toBe(true);
    expect(hub.asked.some(({ path }) => path.includes(sha256(content(one))))).toBe(false);
  });
});

describe('in processes of their own', () => {
  const modules = ['resolve', 'fetch', 'download', 'http', 'proxy', 'hugging-face', 'listing', 'checkpoint'];
  const url = (name: string): string => pathToFileURL(join(import.meta.dirname, `../../dist/weights/${name}.js`)).href;
  const script = `
    import { resolveCheckpoint } from ${JSON.stringify(url('resolve'))};
    import { downloadCheckpoint } from ${JSON.stringify(url('fetch'))};
    const options = { environment: process.env, signal: new AbortController().signal, onWait: () => console.log('waits') };
    try {
      const found = await resolveCheckpoint('org/two', process.env, options.signal);
      console.log('downloads');
      await downloadCheckpoint(found, options);
      console.log('done');
    } catch (error) {
      console.log(error.code, error.message, error.hint);
    }`;
  const node = [process.execPath, '--input-type=module', '-e', script];
  const run = (argv: readonly string[], env: Readonly<Record<string, string>>, stop = signal) => {
    expectFreshBuild('weights', ...modules);
    return runToEnd(argv, { env: { PATH: process.env.PATH ?? '', ...env }, timeoutS: 50, signal: stop });
  };

  it('a full disk leaves nothing that counts, and is gone on from', async () => {
    await using hub = await startHub();
    const { folder, blob, environment, fetch } = await place(hub);
    // Blocks of 512 bytes or of 1024, by shell: less than the first part has, and more than the tokenizer has.
    const limited = await run(['/bin/sh', '-c', 'ulimit -f 200; exec "$@"', 'sh', ...node], environment);
    expect(limited.stdout).toMatch(/disk_full no file may grow so large.*make room/s);
    expect(existsSync(join(folder, 'refs'))).toBe(false);
    expect(existsSync(blob(one))).toBe(false);
    expect(statSync(unfinished(blob(one))).size).toBeGreaterThan(50_000);
    expectWhole((await fetch()).folder);
    expect(hub.asked.some(({ headers }) => headers.range !== undefined)).toBe(true);
  });

  it('two at once download everything once', async () => {
    await using hub = await startHub();
    const { folder, environment } = await place(hub);
    hub.flaws.set(one, [{ slowS: 0.3 }]);
    const both = await Promise.all([run(node, environment), run(node, environment)]);
    expect(both.map(({ stdout }) => stdout.trim().split('\n').at(-1))).toEqual(['done', 'done']);
    expect(both.some(({ stdout }) => stdout.includes('waits'))).toBe(true);
    expectWhole(join(folder, 'snapshots', commit));
    expect(hub.asked.filter(({ host, method }) => host === 'cdn' && method === 'GET')).toHaveLength(3);
  });

  it('one that was killed is gone on from', async () => {
    await using hub = await startHub();
    const { folder, environment, blob, fetch } = await place(hub);
    hub.flaws.set(one, [{ slowS: 0.5 }]);
    const stop = new AbortController();
    const killed = run(node, environment, stop.signal);
    while (!existsSync(unfinished(blob(one)))) await new Promise((done) => setTimeout(done, 20));
    stop.abort(new Error('killed'));
    await expect(killed).rejects.toThrow('killed');
    expect(existsSync(join(folder, 'refs'))).toBe(false);
    expectWhole((await fetch()).folder);
  });
});
