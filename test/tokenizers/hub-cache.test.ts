import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { hubCacheIn, hubFolder } from '../../src/kit/hub-cache.ts';
import { chooseTokenizer } from '../../src/tokenizers/choose.ts';

const bundledFile = join(import.meta.dirname, '../../assets/tiny-qwen3/tokenizer.json');
const cache = mkdtempSync(join(tmpdir(), 'servetune-hub-'));
afterAll(() => rmSync(cache, { recursive: true }));
const env = { HF_HUB_CACHE: cache };

/** Files of a downloaded model as the hub's client lays them out: the content under blobs, links under snapshots. */
function downloaded(id: string, hash: string, files: readonly string[], main = true): string {
  const folder = join(cache, `models--${id.replace('/', '--')}`);
  const snapshot = join(folder, 'snapshots', hash);
  for (const path of [snapshot, join(folder, 'blobs'), join(folder, 'refs')]) mkdirSync(path, { recursive: true });
  if (main) writeFileSync(join(folder, 'refs/main'), `${hash}\n`);
  for (const name of files) {
    copyFileSync(bundledFile, join(folder, 'blobs', `${hash}-${name}`));
    symlinkSync(join('../../blobs', `${hash}-${name}`), join(snapshot, name));
  }
  return snapshot;
}

const whole = downloaded('Org/Whole-1.5B', 'aaa', ['tokenizer.json', 'config.json']);
downloaded('Org/Whole-1.5B', 'bbb', ['tokenizer.json'], false);
const old = downloaded('plain', 'ccc', ['tokenizer.json'], false);
const later = downloaded('plain', 'ddd', ['tokenizer.json'], false);
downloaded('plain', 'eee', ['config.json'], false);
utimesSync(join(old, 'tokenizer.json'), 1000, 1000);
const sentencePiece = downloaded('Org/Sentence', 'fff', ['tokenizer.model', 'tokenizer_config.json']);

it.each([
  [{ HF_HUB_CACHE: '/a', HF_HOME: '/b', HOME: '/c' }, '/a'],
  [{ HF_HOME: '/b', XDG_CACHE_HOME: '/x', HOME: '/c' }, '/b/hub'],
  [{ XDG_CACHE_HOME: '/x', HOME: '/c' }, '/x/huggingface/hub'],
  [{ HF_HOME: '', HOME: '/c' }, '/c/.cache/huggingface/hub'],
  [{}, null],
])('the cache of %j is %s', (given, path) => expect(hubCacheIn(given)).toBe(path));

it.each([
  ['Org/Whole-1.5B', whole],
  ['plain', later],
  ['Org/Sentence', sentencePiece],
  ['Org/None', null],
  ['Org/../plain', null],
  ['..', null],
  ['/etc', null],
])('%s lies in %s', async (id, path) => expect(await hubFolder(id, env)).toBe(path));

describe('a tokenizer', () => {
  it('is found by the id of its model, named or not', async () => {
    for (const wanted of [{ path: 'Org/Whole-1.5B', model: 'x' }, { model: 'Org/Whole-1.5B' }]) {
      const { tokenizer, note } = await chooseTokenizer({ ...wanted, env });
      expect([tokenizer.name, note]).toEqual([join(whole, 'tokenizer.json'), undefined]);
    }
    expect((await chooseTokenizer({ model: 'Org/Whole-1.5B' })).note).toMatch(/approximate/);
    expect((await chooseTokenizer({ model: 'Org/Sentence', env })).note).toMatch(/approximate/);
  });

  it.each([
    ['Org/None', /neither a file nor a folder.*cache/, 'hf download Org/None tokenizer.json'],
    ['Org/Sentence', /tokenizer\.json does not exist, and tokenizer\.model beside it/, 'save_pretrained'],
    [sentencePiece, /tokenizer\.model/, 'server'],
    ['./none/tokenizer.json', /none.tokenizer\.json does not exist/, 'tokenizer.json'],
  ])('named %s that is not there is bad input with a remedy', async (path, message, hint) => {
    const error = await chooseTokenizer({ path, model: 'x', env }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(InputError);
    expect((error as InputError).problems).toEqual([
      { place: '--tokenizer', message: expect.stringMatching(message), hint: expect.stringContaining(hint) },
    ]);
  });
});
