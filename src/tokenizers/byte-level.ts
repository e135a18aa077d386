import * as library from '@huggingface/tokenizers';
import type { ByteLevelTables, WholeToken } from './byte-tables.ts';
import type { Codec } from './codec.ts';
import { pairMerger } from './pair-merge.ts';

/** Longest word whose ids are remembered: V8 copies parts of a string up to this length, longer ones keep it alive. */
const rememberedLength = 12;
const rememberedWords = 100_000;

const loneSurrogates = /\p{Surrogate}/gu;

/** Encodes and decodes by `tables`. A lone surrogate counts as U+FFFD, as it does wherever text becomes UTF-8. */
export function byteLevelCodec(tables: ByteLevelTables): Codec {
  const { byteIds, bytes, starts, unmerged } = tables;
  const merge = pairMerger(tables.pairs);
  const patterns = tables.patterns.map((Regex) => wordPattern(Regex));
  const cutBefore = tokenCutter(tables.before);
  const cutAfter = tokenCutter(tables.after);
  const toUtf8 = new TextEncoder();
  const fromUtf8 = new TextDecoder('utf-8', { ignoreBOM: true });

  let utf8 = new Uint8Array(4096);
  let symbols = new Int32Array(4096);
  let known = new Map<string, number | readonly number[]>(unmerged);

  const encodeWord = (word: string, ids: number[]): void => {
    const found = known.get(word);
    if (found !== undefined) {
      if (typeof found === 'number') ids.push(found);
      else for (const id of found) ids.push(id);
      return;
    }
    // A UTF-16 unit takes three bytes at most.
    if (word.length * 3 > utf8.length) {
      utf8 = new Uint8Array(word.length * 6);
      symbols = new Int32Array(word.length * 6);
    }
    const { written } = toUtf8.encodeInto(word, utf8);
    for (let i = 0; i < written; i++) symbols[i] = byteIds[utf8[i] as number] as number;
    const count = merge(symbols, written);
    for (let i = 0; i < count; i++) ids.push(symbols[i] as number);
    if (word.length > rememberedLength) return;
    if (known.size >= rememberedWords + unmerged.size) known = new Map(unmerged);
    known.set(word, count === 1 ? (symbols[0] as number) : Array.from(symbols.subarray(0, count)));
  };

  const encodePart = (part: string, ids: number[]): void => {
    let words: readonly string[] = [part];
    for (const pattern of patterns) {
      words = words.length === 1 ? wordsOf(words[0] as string, pattern) : words.flatMap((w) => wordsOf(w, pattern));
    }
    for (const word of words) if (word !== '') encodeWord(word, ids);
  };

  return {
    encode(text) {
      const ids: number[] = [];
      cutBefore(text.replace(loneSurrogates, '\ufffd'), ids, (given) =>
        cutAfter(tables.nfc ? given.normalize('NFC') : given, ids, encodePart),
      );
      return ids;
    },
    decode(ids) {
      let length = 0;
      for (const id of ids) length += id < starts.length - 1 ? (starts[id + 1] as number) - (starts[id] as number) : 0;
      const all = new Uint8Array(length);
      let at = 0;
      for (const id of ids) {
        if (id >= starts.length - 1) continue;
        const end = starts[id + 1] as number;
        for (let i = starts[id] as number; i < end; i++) all[at++] = bytes[i] as number;
      }
      return fromUtf8.decode(all);
    },
  };
}

/** What is used of the library, whose own types do not resolve under NodeNext. */
const { SplitPreTokenizer } = library as unknown as {
  readonly SplitPreTokenizer: new (config: object) => { readonly pattern: unknown };
};

/** The library's own translation of a pattern of Oniguruma's, in which `\s` and `\w` differ. */
function wordPattern(given: string): RegExp {
  const Regex = foldedBeyondAscii(given);
  const { pattern } = new SplitPreTokenizer({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false });
  if (pattern instanceof RegExp) return pattern;
  throw new Error(`the pattern ${given} cannot be used`);
}

const caselessGroup = /\(\?i:((?:[^()\\[\]]|\[[^^\\[\]-][^\\[\]-]*\])*)\)/g;
/** Beside the other case, two letters have a third form: the long s, and the sign of the kelvin. */
const thirdForm: Readonly<Record<string, string>> = { s: '\u017f', S: '\u017f', k: '\u212a', K: '\u212a' };

/**
 * A pattern whose groups without regard to case (`(?i:'s|'t)`) also match what Oniguruma takes for an `s` or a `k`: the
 * library folds ASCII only, and `'\u017f` before letters would be part of their word.
 */
function foldedBeyondAscii(pattern: string): string {
  return pattern.replace(caselessGroup, (group) =>
    group.replace(/\[[^\]]*\]|[sSkK]/g, (piece) =>
      piece.length === 1
        ? `[${piece}${thirdForm[piece]}]`
        : piece.replace(/[sSkK]/g, (letter) => `${letter}${thirdForm[letter]}`),
    ),
  );
}

/** What the pattern matches, and what lies between. */
function wordsOf(text: string, pattern: RegExp): readonly string[] {
  const words = text.match(pattern) ?? [];
  let length = 0;
  for (const word of words) length += word.length;
  if (length === text.length) return words;

  const all: string[] = [];
  let end = 0;
  for (const { 0: word, index } of text.matchAll(pattern)) {
    all.push(text.slice(end, index), word);
    end = index + word.length;
  }
  all.push(text.slice(end));
  return all;
}

type Cutter = (text: string, ids: number[], encode: (part: string, ids: number[]) => void) => void;

/** Cuts a text at the tokens in it, the leftmost first and the longest of those, and passes on what lies between. */
function tokenCutter(tokens: readonly WholeToken[]): Cutter {
  const cutAt = (text: string, ids: number[], encode: (part: string, ids: number[]) => void): void => {
    if (text !== '') encode(text, ids);
  };
  if (tokens.length === 0) return cutAt;

  const idOf = new Map(tokens.map(({ content, id }) => [content, id]));
  const longestFirst = [...idOf.keys()].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|'), 'g');
  return (text, ids, encode) => {
    let end = 0;
    for (const { 0: token, index } of text.matchAll(pattern)) {
      cutAt(text.slice(end, index), ids, encode);
      ids.push(idOf.get(token) as number);
      end = index + token.length;
    }
    cutAt(end === 0 ? text : text.slice(end), ids, encode);
  };
}
