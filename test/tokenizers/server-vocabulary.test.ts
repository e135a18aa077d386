import fc from 'fast-check';
import { expect, it } from 'vitest';
import { baseVocabularySize } from '../../src/tokenizers/server-vocabulary.ts';

const vocabulary = (base: number, added: readonly string[], throws: boolean) => async (id: number) => {
  if (id < base) return ` piece${id}`;
  const text = added[id - base];
  if (text === undefined && throws) throw new Error('no such id');
  return text ?? '';
};

it('finds where pieces of text end, told the size or not', async () => {
  const token = fc.constantFrom('<|im_end|>', '</s>', '<think>', '[PAD123]', '[UNK]', '<unused7>');
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 300_000 }), fc.array(token, { maxLength: 300 }), fc.boolean(), fc.boolean(),
      async (base, added, told, throws) => {
        const size = told ? base + added.length : undefined;
        expect(await baseVocabularySize(size, vocabulary(base, added, throws))).toBe(base);
      },
    ), // biome-ignore format: one property
    { numRuns: 50 },
  );
});

it('gives up on a server that tells no text', async () => {
  expect(await baseVocabularySize(undefined, async () => '')).toBeNull();
  expect(await baseVocabularySize(32_000, async () => '<x>')).toBeNull();
});

it('stops when it is told to', async () => {
  const fail = async (): Promise<string> => { throw new Error('gone'); }; // biome-ignore format: short
  await expect(baseVocabularySize(100, fail, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
});
