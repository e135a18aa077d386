import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { nativeTokenizer } from '../../src/tokenizers/native.ts';
import { portableTokenizer } from '../../src/tokenizers/portable.ts';

const folder = mkdtempSync(join(tmpdir(), 'servetune-fallback-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A small vocabulary of Llama 2's kind: words with `▁` for spaces, and bytes for what it has no word for. */
function llama2(): object {
  const byte = (i: number): string => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`;
  const special = ['<unk>', '<s>', '</s>'];
  const merges = ['▁ t', 'h e', '▁t he', 'a n', 'an d', '▁ ▁'];
  const texts = [...special, ...Array.from({ length: 256 }, (_, i) => byte(i)), ...'▁abcdefghijklmnopqrstuvwxyz', ...merges.map((merge) => merge.replace(' ', ''))]; // biome-ignore format: a list
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
  return {
    version: '1.0', truncation: null, padding: null,
    added_tokens: special.map((content, id) => ({ id, content, ...flags })),
    normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, replace] },
    pre_tokenizer: null,
    post_processor: {
      type: 'TemplateProcessing', single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 0 } }], special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
    },
    decoder: {
      type: 'Sequence',
      decoders: [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }, { type: 'Strip', content: ' ', start: 1, stop: 0 }],
    },
    model: {
      type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true, byte_fallback: true,
      ignore_merges: false, vocab: Object.fromEntries(texts.map((text, id) => [text, id])), merges,
    },
  }; // biome-ignore format: a tokenizer.json
}

it('a vocabulary that falls back on bytes is the same with both engines', async () => {
  const path = join(folder, 'tokenizer.json');
  writeFileSync(path, JSON.stringify(llama2()));
  const [portable, native] = await Promise.all([portableTokenizer(path), nativeTokenizer(path)]);
  expect(portable).toMatchObject({ specialTokenCount: 1, specialIds: [0, 1, 2], vocabSize: native.vocabSize });

  const part = fc.constantFrom('the', ' and', '  ', 'the an', '日本', ' é', 'e\u0301', '\ud800', '\u{1f600}', '\ufeff', '\n', '<s>', '</s> ', '<unk>'); // biome-ignore format: a list
  const text = fc.array(fc.oneof(part, fc.string({ unit: 'binary', maxLength: 8 }))).map((parts) => parts.join(''));
  const bytes = fc.constantFrom(3 + 0xe3, 3 + 0x81, 3 + 0x82, 3 + 0xef, 3 + 0xbb, 3 + 0xbf, 3 + 0xff);
  const ids = fc.array(fc.oneof(fc.nat(295), bytes, fc.constant(99_999)), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(text, ids, async (one, list) => {
      expect(await portable.encode([one])).toEqual(await native.encode([one]));
      expect(await portable.decode([list])).toEqual(await native.decode([list]));
    }),
    { numRuns: 300 },
  );
});
