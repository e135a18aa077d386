import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pythonTwister } from '../../kit/mersenne-twister.ts';
import type { WorkloadOptions } from '../../records/workload.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import type { Making } from '../dataset.ts';
import type { TraceRow } from '../reading/trace-rows.ts';
import { type ExactText, exactTexts, withoutSpecials } from './exact-texts.ts';
import { wordTokens } from './word-tokens.ts';

/** Tokens of the blocks that are kept for the next prompt that has them; others are drawn again. */
const mostKept = 16_000_000;
/** Prompts between two looks at the signal. */
const batch = 64;

interface Texts {
  readonly texts: readonly ExactText[];
  readonly notes: readonly string[];
}

/**
 * A prompt for each row, as long as it records together with the special tokens that the tokenizer adds by itself.
 * Blocks are drawn from (seed, hash id); what the ids do not cover is drawn from (seed, line). Blocks are made of words
 * that keep to themselves, so that equal ids give equal tokens; a tokenizer without such words gets random ids and the
 * repair of `exactTexts` at the end of each prompt.
 */
export async function traceTexts(
  rows: readonly TraceRow[],
  { seed, timed_trace_chunk_hash_size: blockSize }: WorkloadOptions,
  tokenizer: Tokenizer,
  making: Making,
): Promise<Texts> {
  const { signal, onProgress } = making;
  const words = await wordTokens(tokenizer, signal);
  const blocks = blocksOf(seed, words ? words.length : tokenizer.vocabSize);
  const lengthOf = ({ inputTokens }: TraceRow): number => Math.max(1, inputTokens - tokenizer.specialTokenCount);
  const placesOf = (row: TraceRow): number[] => {
    const length = lengthOf(row);
    const places: number[] = [];
    const take = (block: Uint32Array): void => {
      // A prompt that ends within a block has the beginning of it.
      const end = Math.min(block.length, length - places.length);
      for (let i = 0; i < end; i++) places.push(block[i] as number);
    };
    for (const id of row.hashIds) {
      if (places.length >= length) break;
      take(blocks(`hash ${id}`, blockSize));
    }
    if (places.length < length) take(blocks(`line ${row.line}`, length - places.length));
    return places;
  };

  if (!words) {
    const ids = rows.map((row) => withoutSpecials(placesOf(row), tokenizer));
    return exactTexts(ids, tokenizer, seed, making);
  }
  const texts: ExactText[] = [];
  for (const row of rows) {
    if (texts.length % batch === 0) {
      await nextTurn();
      signal.throwIfAborted();
      onProgress?.(texts.length, rows.length);
    }
    const text = placesOf(row)
      .map((place) => words[place])
      .join('');
    texts.push({ text, tokens: lengthOf(row) });
  }
  onProgress?.(texts.length, rows.length);
  return { texts, notes: [] };
}

/** Whole numbers below `size`, always the same for the same key. */
function blocksOf(seed: number, size: number): (key: string, length: number) => Uint32Array {
  const kept = new Map<string, Uint32Array>();
  let tokens = 0;
  return (key, length) => {
    const known = kept.get(key);
    if (known) return known;
    const generator = pythonTwister(createHash('sha256').update(`${seed}:${key}`).digest().readUIntBE(0, 6));
    const block = new Uint32Array(length);
    for (let i = 0; i < length; i++) block[i] = Math.floor(generator.random() * size);
    if (key.startsWith('hash') && tokens + length <= mostKept) {
      kept.set(key, block);
      tokens += length;
    }
    return block;
  };
}
