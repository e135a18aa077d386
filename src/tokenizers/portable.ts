import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { now } from '../kit/clock.ts';
import { libraryCodec } from './library.ts';
import { type CodecSource, codecOf, sourceOf } from './source.ts';
import { specialTokensAdded } from './special-tokens.ts';
import { canStartThreads, startThreads } from './threads.ts';
import type { Tokenizer } from './tokenizer.ts';
import { readTokenizerFile, type TokenizerFile } from './tokenizer-file.ts';

/** Longest that a batch may keep the event loop from turning, seconds. */
const turnS = 0.03;
/** From this size on a batch is worth threads: about 50,000 tokens, a few tenths of a second of work. */
const bigBatch = { characters: 200_000, ids: 50_000 };
/** More would mostly wait for the thread that gives out work and takes in results. */
const mostThreads = 8;

/**
 * A tokenizer from a `tokenizer.json`, or from a folder that holds one, in pure JavaScript; big batches are shared out
 * over threads, one a core.
 *
 * Vocabularies of bytes (GPT-2's, Llama 3's, Qwen's) and those that fall back on bytes (Llama 2's, Mistral's) give the
 * ids and text that `nativeTokenizer` gives, but for the few characters that are newer than the Unicode of either.
 * Other kinds go through a library that is not exact in all of them, as where a `Split` joins separators to their
 * neighbours; there the native one is right.
 *
 * Throws an InputError under `place` (the flag or key that named the path) when there is none or it cannot be read.
 */
export async function portableTokenizer(path: string, place = '--tokenizer'): Promise<Tokenizer> {
  return portableFrom(await readTokenizerFile(path, place));
}

/** `source` saves the reading of a file that was read before. */
export function portableFrom(file: TokenizerFile, source?: CodecSource): Tokenizer {
  try {
    return tokenizerOf(file, source);
  } catch (error) {
    throw file.unusable(error);
  }
}

function tokenizerOf(
  { path, text, json, postProcessor, unusable: _, ...known }: TokenizerFile,
  source = sourceOf(text, json),
): Tokenizer {
  const codec = codecOf(source);
  const specialTokenCount =
    specialTokensAdded(postProcessor) ?? libraryCodec(json, true).encode('a').length - codec.encode('a').length;
  const cores = Math.min(mostThreads, availableParallelism());
  const threads = cores > 1 && canStartThreads() ? startThreads(source, cores) : undefined;

  const encodeOne = (one: string): number[] => (one === '' ? [] : codec.encode(one));
  const decodeOne = (ids: readonly number[]): string => (ids.length === 0 ? '' : codec.decode(ids));
  const isBig = (batch: readonly { readonly length: number }[], size: number): boolean =>
    batch.length > 1 && batch.reduce((sum, { length }) => sum + length, 0) > size;

  return {
    name: path,
    ...known,
    specialTokenCount,
    async encode(texts, signal) {
      const shared = isBig(texts, bigBatch.characters) ? await threads?.encode(texts, signal) : null;
      return shared ?? inTurns(texts, encodeOne, signal);
    },
    async decode(lists, signal) {
      const shared = isBig(lists, bigBatch.ids) ? await threads?.decode(lists, signal) : null;
      return shared ?? inTurns(lists, decodeOne, signal);
    },
    ...(threads && { close: threads.close }),
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
