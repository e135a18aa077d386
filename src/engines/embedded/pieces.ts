import { isUtf8 } from 'node:buffer';
import type { AddonModel } from './addon.ts';

/** What a token adds to the text. */
export interface Piece {
  readonly bytes: Buffer;
  /** The bytes as text, when they are whole characters. */
  readonly text: string | undefined;
}

/** llama.cpp's numbers for kinds of vocabularies and, as bits, of tokens. */
const bytePairVocabulary = 2;
const attributes = { unknown: 1, control: 8, userDefined: 16, byte: 32 } as const;

/** The bytes that byte-level BPE writes as themselves; the others, in order, are written as the characters from U+0100. */
const printable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;

function byteOfCharacter(): ReadonlyMap<string, number> {
  const map = new Map<string, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) map.set(String.fromCodePoint(printable(byte) ? byte : next++), byte);
  return map;
}

const bytePairs = byteOfCharacter();

/**
 * The bytes of every token of a vocabulary, looked up once each. llama.cpp's own detokenizer gives text, in which a part
 * of a character is already lost.
 */
export function readPieces(
  model: Pick<AddonModel, 'getTokenString' | 'getTokenAttributes' | 'getVocabularyType'>,
): (token: number) => Piece {
  const bytePair = model.getVocabularyType() === bytePairVocabulary;
  const known: Piece[] = [];
  return (token) => {
    const found = known[token];
    if (found !== undefined) return found;
    const bytes = tokenBytes(model.getTokenString(token), model.getTokenAttributes(token), bytePair);
    const piece = { bytes, text: isUtf8(bytes) ? bytes.toString() : undefined };
    known[token] = piece;
    return piece;
  };
}

/** Control tokens and the unknown token are no text. */
function tokenBytes(spelling: string, kind: number, bytePair: boolean): Buffer {
  if (kind & (attributes.control | attributes.unknown)) return Buffer.alloc(0);
  if (kind & attributes.userDefined) return Buffer.from(spelling);
  if (kind & attributes.byte) return Buffer.from([Number.parseInt(spelling.slice(3, 5), 16)]);
  if (!bytePair) return Buffer.from(spelling.replaceAll('\u2581', ' '));
  const bytes: number[] = [];
  for (const character of spelling) {
    const byte = bytePairs.get(character);
    if (byte === undefined) bytes.push(...Buffer.from(character));
    else bytes.push(byte);
  }
  return Buffer.from(bytes);
}

/** How many bytes at the end are the beginning of a character whose other bytes are still to come. */
function incompleteBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf5 || byte < 0xc2 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

/** Text out of bytes that come in pieces, which may cut through a character. */
export interface TextStream {
  /** The text that the piece completes; what is no UTF-8 becomes U+FFFD. */
  push(piece: Piece): string;
  /** What is left of a character that was never completed, as U+FFFD. */
  rest(): string;
}

export function textStream(): TextStream {
  let held: Buffer | undefined;
  return {
    push(piece) {
      if (held === undefined && piece.text !== undefined) return piece.text;
      const bytes = held === undefined ? piece.bytes : Buffer.concat([held, piece.bytes]);
      const keep = incompleteBytes(bytes);
      held = keep === 0 ? undefined : bytes.subarray(bytes.length - keep);
      return bytes.toString('utf8', 0, bytes.length - keep);
    },
    rest() {
      const text = held?.toString() ?? '';
      held = undefined;
      return text;
    },
  };
}
