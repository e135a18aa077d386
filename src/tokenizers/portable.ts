import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Tokenizer as LibraryTokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { now } from '../kit/clock.ts';
import { InputError, messageOf, systemCode } from '../kit/errors.ts';
import { pairMerger } from './pair-merge.ts';
import type { Tokenizer } from './tokenizer.ts';

/** What is used of the library, whose own types do not resolve under NodeNext. */
interface Library {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: number[]): string;
  readonly model: Model;
}
interface Model {
  readonly merges?: readonly (readonly [string, string])[];
  readonly end_of_word_suffix?: string | null;
  readonly continuing_subword_suffix?: string | null;
  /** Merges the characters of one word. */
  bpe?: (word: string) => string[];
}

/** What is read here of a `tokenizer.json`; the library reads the rest. */
const tokenizerFile = z.looseObject({
  model: z.looseObject({
    vocab: z.custom<object>((vocab) => typeof vocab === 'object' && vocab !== null, 'the vocabulary is missing'),
  }),
  added_tokens: z.array(z.looseObject({ id: z.number(), special: z.boolean().optional() })).default([]),
});

/** Longest that a batch may keep the event loop from turning, seconds. */
const turnS = 0.03;

/**
 * A tokenizer from a `tokenizer.json`, or from a folder that holds one, in pure JavaScript.
 *
 * Throws an InputError under `place` (the flag or key that named the path) when there is none or it cannot be read.
 */
export async function portableTokenizer(path: string, place = '--tokenizer'): Promise<Tokenizer> {
  const fail = (message: string): InputError =>
    new InputError([
      { place, message, hint: 'give a tokenizer.json of Hugging Face’s format, or the folder that holds it' },
    ]);

  let file = path;
  let json: unknown;
  try {
    if ((await stat(path)).isDirectory()) file = join(path, 'tokenizer.json');
    json = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw fail(systemCode(error) === 'ENOENT' ? `${file} does not exist` : `${file}: ${messageOf(error)}`);
  }

  const parsed = tokenizerFile.safeParse(json);
  if (!parsed.success) throw fail(`${file} is not a tokenizer: ${z.prettifyError(parsed.error)}`);
  try {
    return fromJson(file, json as object, parsed.data);
  } catch (error) {
    throw fail(`${file} cannot be used: ${messageOf(error)}`);
  }
}

/** `json` is the file as it stands: a copy made by a schema may lose odd keys, and `__proto__` is a token like any other. */
function fromJson(name: string, json: object, { model, added_tokens }: z.infer<typeof tokenizerFile>): Tokenizer {
  // Unless told otherwise, the library tidies spaces before punctuation when it decodes, and lengths would change.
  const library: Library = new LibraryTokenizer(json, { clean_up_tokenization_spaces: false });
  mergeFaster(library);
  const vocabSize = Array.isArray(model.vocab) ? model.vocab.length : Object.keys(model.vocab).length;
  const idsOf = (text: string, special: boolean): number[] =>
    text === '' && !special ? [] : library.encode(text, { add_special_tokens: special }).ids;

  return {
    name,
    vocabSize,
    specialIds: added_tokens
      .filter(({ id, special }) => special === true && id < vocabSize)
      .map(({ id }) => id)
      .sort((a, b) => a - b),
    specialTokenCount: idsOf('a', true).length - idsOf('a', false).length,
    encode: (texts, signal) => inTurns(texts, (text) => idsOf(text, false), signal),
    // The library refuses an empty list.
    decode: (ids, signal) => inTurns(ids, (list) => (list.length === 0 ? '' : library.decode([...list])), signal),
  };
}

/** Characters of a word from which on the library's own merging, whose time grows less, is left to it. */
const longWord = 1500;
/** Merged words that are remembered; the second reading of a text finds most of its words here. */
const rememberedWords = 100_000;

/**
 * Lets the library merge pairs by `pairMerger` where it would spend most of its time otherwise: it writes each pair as
 * JSON to look up its rank, and random text has long words.
 */
function mergeFaster({ model }: Library): void {
  if (!model.merges || !model.bpe || model.end_of_word_suffix || model.continuing_subword_suffix) return;
  const merge = pairMerger(model.merges);
  const mergeLong = model.bpe.bind(model);
  const known = new Map<string, string[]>();
  model.bpe = (word) => {
    if (word.length > longWord) return mergeLong(word);
    let parts = known.get(word);
    if (parts === undefined) {
      parts = merge(word);
      if (known.size >= rememberedWords) known.clear();
      known.set(word, parts);
    }
    return parts;
  };
}

/** Maps a batch on this thread, letting timers, sockets and the signal have their turn in between. */
async function inTurns<T, R>(items: readonly T[], map: (item: T) => R, signal?: AbortSignal): Promise<R[]> {
  const results: R[] = [];
  let turnEndS = now() + turnS;
  for (const item of items) {
    if (now() > turnEndS) {
      await nextTurn();
      turnEndS = now() + turnS;
    }
    signal?.throwIfAborted();
    results.push(map(item));
  }
  return results;
}
