import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { InputError } from '../../src/kit/errors.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import { portableTokenizer } from '../../src/tokenizers/portable.ts';

const bundledFile = join(import.meta.dirname, '../../assets/tiny-qwen3/tokenizer.json');
const folder = mkdtempSync(join(tmpdir(), 'servetune-tokenizer-'));
afterAll(() => rmSync(folder, { recursive: true }));
const written = (name: string, content: unknown): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

describe('the built-in vocabulary', async () => {
  const tokenizer = await bundledTokenizer();

  it('is the first part of Qwen3’s, without added tokens', () => {
    expect(tokenizer).toMatchObject({ vocabSize: 8189, specialIds: [], specialTokenCount: 0 });
  });

  it('is read once', async () => expect(await bundledTokenizer()).toBe(tokenizer));

  it('gives the ids that Qwen3 gives to text of common words', async () => {
    const [ids] = await tokenizer.encode(['The time of the world']);
    expect(ids).toEqual([785, 882, 315, 279, 1879]);
  });

  it.each([
    ['spaces before punctuation', 'a , b . c ! n\'t  \t x'],
    ['line ends', '\r\n\r\n  \n a\u2028b\u0085'],
    ['a byte order mark alone', '\ufeff'],
    ['byte order marks everywhere', '\ufeffa\ufeff b \ufeff\n\ufeff'],
    ['other scripts', '日本語 ひらがな 😀 ñ ﷽ अ'],
    ['nothing', ''],
    ['a special token', 'x<|im_end|>y'],
  ])('brings %s back', async (_, text) => {
    const ids = await tokenizer.encode([text]);
    expect(await tokenizer.decode(ids)).toEqual([text.normalize('NFC')]);
  }); // biome-ignore format: one text a line

  it('recognises special tokens that stand in the text', async () => {
    expect(await tokenizer.encode(['<|im_start|><|endoftext|>'])).toEqual([[8190, 8189]]);
  });

  it('decodes broken UTF-8 to one U+FFFD a broken part', async () => {
    expect(await tokenizer.decode([[128, 129, 130], [220, 94]])).toEqual(['\ufffd\ufffd\ufffd', ' \ufffd']);
  }); // biome-ignore format: short

  it('decodes no ids to no text', async () => expect(await tokenizer.decode([[], [64]])).toEqual(['', 'a']));

  it('lets go of the event loop, and stops when it is told to', async () => {
    const stop = new AbortController();
    const texts = Array.from({ length: 100_000 }, (_, i) => `text ${i} of many ${i * 7919}`);
    setTimeout(() => stop.abort(new Error('enough')), 1);
    await expect(tokenizer.encode(texts, stop.signal)).rejects.toThrow('enough');
  });
});

it('takes a folder or the file', async () => {
  copyFileSync(bundledFile, join(folder, 'tokenizer.json'));
  const [one, other] = await Promise.all([portableTokenizer(folder), portableTokenizer(bundledFile)]);
  expect(await one.encode(['same ids'])).toEqual(await other.encode(['same ids']));
});

it('counts the special tokens that it would add, and knows those inside the vocabulary', async () => {
  const json = JSON.parse(readFileSync(bundledFile, 'utf8'));
  json.post_processor = {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<|im_start|>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: { '<|im_start|>': { id: '<|im_start|>', ids: [8190], tokens: ['<|im_start|>'] } },
  };
  json.added_tokens.push(
    { ...json.added_tokens[0], id: 3, content: '$' },
    { ...json.added_tokens[0], id: 0, content: '!' },
  );
  const tokenizer = await portableTokenizer(written('bos.json', json));
  expect(tokenizer).toMatchObject({ specialTokenCount: 1, vocabSize: 8189, specialIds: [0, 3] });
  expect(await tokenizer.encode(['a'])).toEqual([[64]]);
});

it('keeps tokens with odd names', async () => {
  const json = readFileSync(bundledFile, 'utf8').replace('"vocab":{', '"vocab":{"__proto__":8192,');
  expect(json).toContain('__proto__');
  expect((await portableTokenizer(written('proto.json', json))).vocabSize).toBe(8190);
});

describe('a file that cannot be used', () => {
  const broken = (name: string, content: unknown) => () => portableTokenizer(written(name, content), '--tokenizer');
  mkdirSync(join(folder, 'empty'));
  it.each<[string, () => Promise<unknown>, RegExp]>([
    ['is missing', () => portableTokenizer(join(folder, 'none')), /does not exist/],
    ['is missing in its folder', () => portableTokenizer(join(folder, 'empty')), /empty.tokenizer\.json does not exist/],
    ['is no JSON', broken('text.json', 'hello'), /JSON/],
    ['is some other JSON', broken('other.json', { name: 'x' }), /not a tokenizer/],
    ['is no object', broken('list.json', []), /not a tokenizer/],
    ['has a model that is not known', broken('odd.json', { model: { type: 'Odd', vocab: [] } }), /cannot be used/],
  ])('because it %s is bad input with a remedy', async (_, read, message) => {
    const error = await read().catch((e: unknown) => e);
    expect(error).toBeInstanceOf(InputError);
    expect((error as InputError).problems).toEqual([
      { place: '--tokenizer', message: expect.stringMatching(message), hint: expect.stringContaining('tokenizer.json') },
    ]);
  }); // biome-ignore format: one case a line
});
