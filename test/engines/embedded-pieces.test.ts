import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AddonModel, findAddon, loadAddon } from '../../src/engines/embedded/addon.ts';
import { modelFile } from '../../src/engines/embedded/model/cache.ts';
import { type Piece, readPieces, textStream } from '../../src/engines/embedded/pieces.ts';

/** Feeds pieces and gives the texts, what was held back at the end included. */
function texts(pieces: readonly Piece[]): string[] {
  const stream = textStream();
  return [...pieces.map((piece) => stream.push(piece)), stream.rest()];
}

const piece = (bytes: Uint8Array): Piece => ({ bytes: Buffer.from(bytes), text: undefined });

describe('a stream of text', () => {
  it('is the same wherever its bytes are cut, valid UTF-8 or not', () => {
    const byte = fc.oneof(
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(0x41, 0x80, 0xbf, 0xc2, 0xe0, 0xe4, 0xed, 0xf0, 0xf4, 0xf5),
    );
    fc.assert(
      fc.property(fc.array(fc.array(byte, { maxLength: 5 })), (cuts) => {
        const pieces = cuts.map((bytes) => piece(Uint8Array.from(bytes)));
        const whole = Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
        expect(texts(pieces).join('')).toBe(whole);
      }),
    );
  });

  it('holds a character back until it is whole', () => {
    const bytes = Buffer.from('a\u{1f600}b');
    expect(texts([...bytes].map((b) => piece(Uint8Array.of(b))))).toEqual(['a', '', '', '', '\u{1f600}', 'b', '']);
  });
});

describe('the pieces of a vocabulary', () => {
  it('of SentencePiece: spaces, bytes, and tokens that are no text', () => {
    const vocabulary: [string, number][] = [
      ['\u2581caf\u00e9', 4],
      ['<0xE2>', 32],
      ['</s>', 8],
      ['<unk>', 1],
      ['\u2581', 16],
    ];
    const read = readPieces({
      getTokenString: (token) => vocabulary[token]?.[0] ?? '',
      getTokenAttributes: (token) => vocabulary[token]?.[1] ?? 0,
      getVocabularyType: () => 1,
    });
    expect([0, 1, 2, 3, 4].map((token) => [...read(token).bytes])).toEqual([
      [...Buffer.from(' caf\u00e9')],
      [0xe2],
      [],
      [],
      [...Buffer.from('\u2581')],
    ]);
    expect([0, 1, 2].map((token) => read(token).text)).toEqual([' caf\u00e9', undefined, '']);
  });

  describe('of the model that needs no download', () => {
    let model: AddonModel;
    const folder = mkdtempSync(join(tmpdir(), 'servetune-pieces-'));
    afterAll(() => rmSync(folder, { recursive: true }));
    beforeAll(async () => {
      const addon = await loadAddon(findAddon(), () => {});
      model = new addon.AddonModel(await modelFile('tiny-qwen3', 'q4_0', folder), { useMmap: true });
      expect(await model.init()).toBe(true);
    });

    it('are what llama.cpp makes of any tokens', () => {
      const read = readPieces(model);
      fc.assert(
        fc.property(fc.array(fc.integer({ min: 0, max: 8191 }), { minLength: 1, maxLength: 60 }), (tokens) => {
          const whole = model.detokenize(Uint32Array.from(tokens), false);
          expect(texts(tokens.map(read)).join('')).toBe(whole);
        }),
      );
    });

    it('give back any text', () => {
      const read = readPieces(model);
      fc.assert(
        fc.property(fc.string({ unit: 'grapheme' }), (text) => {
          expect(texts(Array.from(model.tokenize(text, false), read)).join('')).toBe(text);
        }),
      );
    });
  });
});
