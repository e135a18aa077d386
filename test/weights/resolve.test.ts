import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/processes/ports.ts';
import { unfinished } from '../../src/weights/checkpoint.ts';
import { downloadCheckpoint } from '../../src/weights/fetch.ts';
import { resolveCheckpoint, resolveCheckpoints } from '../../src/weights/resolve.ts';
import { type StandInModel, sha256, standInHub } from './hub.ts';
import { bytesOfTwoParts, commit, emptyFolder, neededOfTwoParts, signal, twoParts, wordsOf } from './models.ts';

const resolve = (name: string, env: Readonly<Record<string, string>> = {}, withWeights = true) =>
  resolveCheckpoint(name, env, signal, { withWeights });

describe('a local model', () => {
  const folder = emptyFolder();
  const write = (name: string, content = 'x'): void => writeFileSync(join(folder, name), content);

  it('is a folder with a configuration and all parts of its weights', async () => {
    expect(await wordsOf(resolve(folder))).toMatch(/lacks config\.json and weights.*copy or download/);
    write('config.json', '{}');
    expect(await wordsOf(resolve(folder))).toMatch(/lacks weights/);
    expect(await resolve(folder, {}, false)).toMatchObject({ source: 'folder', bytes: 2, missingBytes: 0 });
    write('model-00001-of-00003.safetensors', 'weights');
    expect(await wordsOf(resolve(folder))).toMatch(/lacks model-00002-of-00003\.safetensors and model-00003/);
    write('model-00002-of-00003.safetensors', 'weights');
    write('model-00003-of-00003.safetensors', 'weights');
    write(
      'model.safetensors.index.json',
      '{"weight_map": {"a": "model-00001-of-00003.safetensors", "b": "other.safetensors"}}',
    );
    expect(await wordsOf(resolve(folder))).toMatch(/lacks other\.safetensors;/);
    write('other.safetensors', 'more');
    const { files, ...found } = await resolve(folder);
    expect(found).toMatchObject({ path: folder, folder, id: null, commit: null, gated: false, missingBytes: 0 });
    expect(files.map(({ path }) => path)).toContain('other.safetensors');
  });

  it('is a GGUF file, or a folder that holds one', async () => {
    const path = join(emptyFolder(), 'tiny.gguf');
    writeFileSync(path, 'GGUF');
    expect(await resolve(path)).toMatchObject({ source: 'gguf', path, bytes: 4, missingBytes: 0 });
    expect(await resolve(join(path, '..'))).toMatchObject({ source: 'folder', path });
  });

  it.each([
    ['/none/at/all', /model \/none\/at\/all: \/none\/at\/all does not exist/],
    ['./none.gguf', /does not exist/],
    ['none.gguf@', /neither a path nor a name|does not exist/],
    ['a/b/c', /neither a path nor a name on a hub; name it as OWNER\/MODEL/],
    ['org/model@../../x', /neither a path nor a name/],
    ['', /neither a path nor a name/],
    [import.meta.filename, /not one in GGUF/],
  ])('%j is refused', async (name, words) => expect(await wordsOf(resolve(name, { HOME: '/none' }))).toMatch(words));
});

describe('a model on the hub', () => {
  it('is pinned to a commit, with the files that engines need', async () => {
    await using hub = await standInHub({ 'org/two': twoParts });
    const cache = emptyFolder();
    const env = { HF_ENDPOINT: `${hub.url}/`, HF_HUB_CACHE: cache };
    const found = await resolve('org/two', env);
    expect(found).toMatchObject({ source: 'hugging-face', id: 'org/two', revision: null, commit, gated: false });
    expect(found.path).toBe(join(cache, 'models--org--two/snapshots', commit));
    expect(found.files.map(({ path }) => path)).toEqual(neededOfTwoParts);
    expect(found.bytes).toBe(bytesOfTwoParts);
    expect(found.missingBytes).toBe(bytesOfTwoParts - 200_000);
    expect(found.freeBytes).toBeGreaterThan(0);
    const [first] = found.files.filter(({ path }) => path.startsWith('model-'));
    expect(first).toMatchObject({ bytes: 300_000, presentBytes: 0, gitBlob: null });
    expect(first?.sha256).toBe(sha256(twoParts.files['model-00001-of-00002.safetensors'] as Buffer));

    const other = await resolve('org/two@refs/pr/1', env, false);
    expect(other).toMatchObject({ revision: 'refs/pr/1', commit });
    expect(other.files.some(({ path }) => path.endsWith('.safetensors'))).toBe(false);
    expect(other.files.map(({ path }) => path)).toContain('tokenizer.json');
  });

  it('counts what is in the cache, begun or whole', async () => {
    await using hub = await standInHub({ 'org/two': twoParts });
    const cache = emptyFolder();
    const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache };
    const blobs = join(cache, 'models--org--two/blobs');
    mkdirSync(blobs, { recursive: true });
    const two = twoParts.files['model-00002-of-00002.safetensors'] as Buffer;
    writeFileSync(join(blobs, sha256(two)), two);
    const one = twoParts.files['model-00001-of-00002.safetensors'] as Buffer;
    writeFileSync(unfinished(join(blobs, sha256(one))), one.subarray(0, 1000));
    expect((await resolve('org/two', env)).missingBytes).toBe(bytesOfTwoParts - 2 * 200_000 - 1000);
    truncateSync(join(blobs, sha256(two)), 5);
    expect((await resolve('org/two', env)).missingBytes).toBe(bytesOfTwoParts - 200_000 - 1000);
  });

  it.each([
    ['org/none', {}, /model org\/none: .* no such model, or it is private \(401\); .*set HF_TOKEN/],
    ['org/none', { HF_TOKEN: 'hf_secret' }, /no such model, or it is private \(404\); .*HF_TOKEN is valid/],
    ['org/private', {}, /private \(401\)/],
    ['org/open@v9', {}, /no revision v9 of it/],
    ['org/gated', {}, /terms have to be accepted.*\(401\); accept its terms at http.*\/org\/gated, and set HF_TOKEN/],
    ['org/gated', { HF_TOKEN: 'hf_other' }, /terms are not accepted, or HF_TOKEN may not read it \(403\)/],
    ['org/nothing', {}, /it has no weights/],
    ['org/gguf:Q9', {}, /no GGUF file Q9; it has m-BF16\.gguf, m-Q4_K_M-00001-of-00002\.gguf, .*and 2 more/],
    ['org/evil', {}, /hub_answer: .*something other than the list/],
  ] as const)('%s %j says what to do', async (name, env, words) => {
    await using hub = await standInHub(refusals);
    const all = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: emptyFolder(), ...env };
    expect(await wordsOf(resolve(name, all))).toMatch(words);
  });

  it('is had with the right token, from the environment or from the file of `hf auth login`', async () => {
    await using hub = await standInHub(refusals);
    const home = emptyFolder();
    const env = { HF_ENDPOINT: hub.url, HF_HOME: home };
    expect((await resolve('org/gated', { ...env, HF_TOKEN: 'hf_secret' })).gated).toBe(true);
    writeFileSync(join(home, 'token'), 'hf_secret\n');
    expect((await resolve('org/private', env)).commit).toBe(commit);
    expect((await resolve('org/gated', env)).gated).toBe(true);
  });

  it.each([
    ['org/gguf', 'm-Q4_K_M-00001-of-00002.gguf', 2],
    ['org/gguf:q8_0', 'm-Q8_0.gguf', 1],
    ['org/gguf/m-Q8_0.gguf', 'm-Q8_0.gguf', 1],
  ])('%s is %s', async (name, first, parts) => {
    await using hub = await standInHub(refusals);
    const found = await resolve(name, { HF_ENDPOINT: hub.url, HF_HUB_CACHE: emptyFolder() });
    expect(found.path).toBe(join(found.folder, first));
    expect(found.files.filter(({ path }) => path.endsWith('.gguf'))).toHaveLength(parts);
  });

  it('is looked up again where the hub is in trouble', async () => {
    await using hub = await standInHub({ 'org/two': twoParts });
    const env = { HF_ENDPOINT: `http://127.0.0.1:${await freePort()}`, HF_HUB_CACHE: emptyFolder() };
    expect(await wordsOf(resolve('org/two', env))).toMatch(/no_network: .*ECONNREFUSED.*; .*HTTPS_PROXY/);
    expect((await resolve('org/two', { ...env, HF_ENDPOINT: hub.url })).commit).toBe(commit);
  });
});

const small = { 'config.json': Buffer.from('{}'), 'model.safetensors': Buffer.from('weights') };
const refusals: Readonly<Record<string, StandInModel>> = {
  'org/open': { commit, files: small },
  'org/private': { commit, files: small, private: true },
  'org/gated': { commit, files: small, gated: 'auto' },
  'org/nothing': { commit, files: { 'config.json': Buffer.from('{}') } },
  'org/evil': { commit, files: { ...small, '../../../evil.json': Buffer.from('{}') } },
  'org/huge': { commit, files: small, sizes: { 'model.safetensors': 2 ** 52 } },
  'org/gguf': {
    commit,
    files: {
      'm-BF16.gguf': Buffer.from('16'),
      'm-Q4_K_M-00001-of-00002.gguf': Buffer.from('41'),
      'm-Q4_K_M-00002-of-00002.gguf': Buffer.from('42'),
      'm-Q8_0.gguf': Buffer.from('8'),
      'mmproj-F16.gguf': Buffer.from('p'),
    },
  },
};

describe('without the hub', () => {
  it('only the cache counts', async () => {
    const cache = emptyFolder();
    const env = { HF_HUB_CACHE: cache };
    const offline = { ...env, HF_HUB_OFFLINE: '1', HF_ENDPOINT: 'http://127.0.0.1:1' };
    expect(await wordsOf(resolve('org/two', offline))).toMatch(
      /HF_HUB_OFFLINE is set, and its cache .* lacks all of it/,
    );
    {
      await using hub = await standInHub({ 'org/two': twoParts });
      const online = { ...env, HF_ENDPOINT: hub.url };
      await downloadCheckpoint(await resolve('org/two', online), { environment: online, signal });
    }
    for (const environment of [offline, { ...env, HF_ENDPOINT: 'http://127.0.0.1:1' }]) {
      const found = await resolve('org/two', environment);
      expect(found).toMatchObject({ commit, missingBytes: 0, bytes: bytesOfTwoParts });
      expect(found.files.find(({ path }) => path.startsWith('nested'))?.sha256).toMatch(/^[0-9a-f]{64}$/);
    }
    expect(await wordsOf(resolve('org/two@other', offline))).toMatch(/lacks all of it/);

    const snapshot = join(cache, 'models--org--two/snapshots', commit);
    rmSync(join(snapshot, 'model-00002-of-00002.safetensors'));
    symlinkSync('../../blobs/gone', join(snapshot, 'model-00002-of-00002.safetensors'));
    expect(await wordsOf(resolve('org/two', offline))).toMatch(
      /lacks model-00002-of-00002\.safetensors; .*hf download/,
    );
    expect((await resolve('org/two', offline, false)).missingBytes).toBe(0);
  });

  it('an environment without a home names no cache', async () => {
    expect(await wordsOf(resolve('org/two', { HF_HUB_OFFLINE: 'yes' }))).toMatch(/set HF_HOME or HOME/);
  });
});

describe('several models', () => {
  it('are refused with all that is wrong with them', async () => {
    await using hub = await standInHub(refusals);
    const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: emptyFolder() };
    const names = ['org/open', 'org/none', '/none', 'org/gated', 'org/huge'];
    const words = await wordsOf(resolveCheckpoints(names, env, signal));
    expect(words.split('\n').map((line) => line.split(':')[0])).toEqual([
      'model org/none',
      'model /none',
      'model org/gated',
      'model org/open, model org/huge',
    ]);
    expect(words).toMatch(/4,?096 TiB|4 PiB/);
    expect(words).toMatch(/set HF_HOME to a folder on another disk/);
    expect((await resolveCheckpoints(['org/open', 'org/open'], env, signal)).map(({ name }) => name)).toEqual([
      'org/open',
    ]);
  });

  it('stops at once when told to', async () => {
    const stop = new AbortController();
    stop.abort(new Error('enough'));
    const env = { HF_ENDPOINT: 'http://127.0.0.1:1', HF_HUB_CACHE: emptyFolder() };
    await expect(resolveCheckpoints(['org/a', 'org/b'], env, stop.signal)).rejects.toThrow('enough');
  });
});
