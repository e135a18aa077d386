import { readFileSync } from 'node:fs';
import { Tokenizer } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import { wordMerger } from '../../src/tokenizers/pair-merge.ts';

describe('a few merges', () => {
  const merge = wordMerger([['a', 'b'], ['b', 'c'], ['ab', 'ab'], ['abab', 'c'], ['x', 'x']]); // biome-ignore format: short
  it.each([
    ['', []],
    ['a', ['a']],
    ['abc', ['ab', 'c']],
    ['bcab', ['bc', 'ab']],
    ['ababc', ['ababc']],
    ['abababc', ['abab', 'ab', 'c']],
    ['xxx', ['xx', 'x']],
    ['\u{1f600}ab', ['\u{1f600}', 'ab']],
    ['abcx'.repeat(50), Array.from({ length: 150 }, (_, i) => ['ab', 'c', 'x'][i % 3])],
    ['x'.repeat(101), [...new Array(50).fill('xx'), 'x']],
    ['ab'.repeat(99), [...new Array(49).fill('abab'), 'ab']],
  ])('%s becomes %j', (word, parts) => expect(merge(word)).toEqual(parts));
});

describe('with the built-in vocabulary', async () => {
  const file = new URL('../../assets/tiny-qwen3/tokenizer.json', import.meta.url);
  const library = new Tokenizer(JSON.parse(readFileSync(file, 'utf8')), { clean_up_tokenization_spaces: false });
  const model: { merges: [string, string][]; vocab: string[]; bpe(word: string): string[] } = library.model;

  it('merges any word as the library does', () => {
    const merge = wordMerger(model.merges);
    const piece = fc.nat(8188).map((id) => model.vocab[id] as string);
    const word = fc.array(piece, { maxLength: 200 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(word, (text) => {
        expect(merge(text)).toEqual(model.bpe(text));
      }),
      { numRuns: 300 },
    );
  });

  it('encodes any text as the library does, long words too', async () => {
    const tokenizer = await bundledTokenizer();
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.array(fc.nat(8191), { minLength: 1, maxLength: 300 }).map((ids) => library.decode(ids)),
      fc.string({ unit: fc.constantFrom('a', 'b', 'e', 'r', 's'), minLength: 300, maxLength: 2000 }),
    );
    await fc.assert(
      fc.asyncProperty(text, async (one) => {
        expect(await tokenizer.encode([one])).toEqual([
          one === '' ? [] : library.encode(one, { add_special_tokens: false }).ids,
        ]);
      }),
      { numRuns: 150 },
    );
  });
});
