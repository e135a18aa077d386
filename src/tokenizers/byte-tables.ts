import { z } from 'zod';
import { type Merge, type PairTable, pairMerger, pairTable } from './pair-merge.ts';

/** A token that is recognised as it stands in a text, before the text is cut into words. */
export interface WholeToken {
  readonly id: number;
  readonly content: string;
}

/** All that encoding and decoding by bytes needs; large parts in shared memory, so that threads can read one copy. */
export interface ByteLevelTables {
  readonly pairs: PairTable;
  /** The id of each of the 256 bytes. */
  readonly byteIds: Int32Array;
  /** The bytes of all tokens in the order of ids; those of id i lie from `starts[i]` to `starts[i + 1]`. */
  readonly bytes: Uint8Array;
  readonly starts: Int32Array;
  readonly nfc: boolean;
  /** Added tokens found in the text as given, and those found in what normalization makes of it. */
  readonly before: readonly WholeToken[];
  readonly after: readonly WholeToken[];
  /** What cuts a text into words, each applied to the pieces of the one before. */
  readonly patterns: readonly string[];
  /** Words that are one token although merging would not make them so (`ignore_merges`). */
  readonly unmerged: ReadonlyMap<string, number>;
}

const off = z.literal(['', 0, false]).nullish();
const split = z.object({
  type: z.literal('Split'),
  pattern: z.object({ Regex: z.string() }),
  behavior: z.literal('Isolated'),
  invert: off,
});
const byteLevel = z.object({
  type: z.literal('ByteLevel'),
  add_prefix_space: z.literal(false),
  use_regex: z.boolean().default(true),
});

/** The form of `tokenizer.json` that is handled here. Strict in all that changes ids. */
const form = z.object({
  normalizer: z.object({ type: z.literal('NFC') }).nullish(),
  pre_tokenizer: z.union([
    byteLevel.transform((last) => ({ splits: [], last })),
    z
      .object({ type: z.literal('Sequence'), pretokenizers: z.array(z.union([split, byteLevel])) })
      .transform(({ pretokenizers }, context) => {
        const last = pretokenizers.at(-1);
        const splits = pretokenizers.slice(0, -1).filter((one) => one.type === 'Split');
        if (last?.type === 'ByteLevel' && splits.length === pretokenizers.length - 1) return { splits, last };
        context.addIssue('the bytes are not taken last');
        return z.NEVER;
      }),
  ]),
  decoder: z.object({ type: z.literal('ByteLevel') }),
  added_tokens: z
    .array(
      z.object({
        id: z.int().nonnegative(),
        content: z.string(),
        special: z.boolean().default(false),
        normalized: z.boolean().optional(),
        single_word: off,
        lstrip: off,
        rstrip: off,
      }),
    )
    .default([]),
  model: z.object({
    type: z.literal('BPE'),
    dropout: off,
    continuing_subword_prefix: off,
    continuing_subword_suffix: off,
    end_of_word_suffix: off,
    ignore_merges: z.boolean().nullish(),
    vocab: z.custom<Record<string, number>>((v) => typeof v === 'object' && v !== null && !Array.isArray(v)),
    merges: z.array(z.custom<string | readonly [string, string]>()),
  }),
});

/** GPT-2's words, which the pre-tokenizer cuts by itself where it is not told otherwise. */
const gpt2Words = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** Larger than any id that a vocabulary gives. */
const idSpan = 2 ** 24;

/**
 * The tables of a `tokenizer.json` (parsed) whose tokens are made of bytes, as GPT-2's, Llama 3's and Qwen's are; null
 * for every other form, and for a file that is inconsistent in itself.
 */
export function byteLevelTables(json: unknown): ByteLevelTables | null {
  const parsed = form.safeParse(json);
  if (!parsed.success) return null;
  const { normalizer, pre_tokenizer, added_tokens, model } = parsed.data;

  const ids = new Map(Object.entries(model.vocab));
  for (const id of ids.values()) if (!Number.isInteger(id) || id < 0 || id >= idSpan) return null;
  const byteIds = byteSymbols.map((symbol) => ids.get(symbol));
  const merges = model.merges.map((merge): Merge | null => {
    const [left, right] = typeof merge === 'string' ? merge.split(' ', 2) : merge;
    const [l, r, whole] = [ids.get(left ?? ''), ids.get(right ?? ''), ids.get(`${left}${right}`)];
    return l === undefined || r === undefined || whole === undefined ? null : [l, r, whole];
  });
  if (!byteIds.every((id) => id !== undefined) || !merges.every((merge) => merge !== null)) return null;

  const nfc = normalizer?.type === 'NFC';
  const whole = wholeTokens(added_tokens, ids, nfc);
  const texts: (string | undefined)[] = [];
  for (const [text, id] of ids) texts[id] = text;
  for (const { id, content } of [...whole.before, ...whole.after]) texts[id] = content;

  const tables = {
    pairs: pairTable(merges),
    byteIds: shared(Int32Array, byteIds),
    ...bytesOf(texts),
    nfc,
    ...whole,
    patterns: [
      ...pre_tokenizer.splits.map(({ pattern }) => pattern.Regex),
      ...(pre_tokenizer.last.use_regex ? [gpt2Words] : []),
    ],
  };
  return { ...tables, unmerged: model.ignore_merges ? unmergedWords(tables, ids) : new Map() };
}

/**
 * The added tokens with the ids that Hugging Face's library gives them, whatever the file says: that of the vocabulary
 * where it has the same text, else the next one after it.
 */
function wholeTokens(
  tokens: z.infer<typeof form>['added_tokens'],
  ids: ReadonlyMap<string, number>,
  nfc: boolean,
): Pick<ByteLevelTables, 'before' | 'after'> {
  const before: WholeToken[] = [];
  const after: WholeToken[] = [];
  const given = new Map<string, number>();
  let next = ids.size;
  for (const { content: written, special, normalized = !special } of tokens) {
    if (written === '') continue;
    const content = normalized && nfc ? written.normalize('NFC') : written;
    const id = ids.get(content) ?? given.get(content) ?? next++;
    given.set(content, id);
    (normalized ? after : before).push({ id, content });
  }
  return { before, after };
}

/** A character of its own for each byte, as byte-level vocabularies write them: printable ones stand for themselves. */
const byteSymbols: readonly string[] = (() => {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCharCode(printable ? byte : next++);
  });
})();
const byteOf = new Map(byteSymbols.map((symbol, byte) => [symbol, byte]));

function shared<A extends Int32Array | Uint8Array>(
  kind: { new (buffer: SharedArrayBuffer): A; readonly BYTES_PER_ELEMENT: number },
  values: readonly number[],
): A {
  const array = new kind(new SharedArrayBuffer(values.length * kind.BYTES_PER_ELEMENT));
  array.set(values);
  return array;
}

/** A token that is not written in byte symbols throughout (an added one with a space) stands for its own UTF-8. */
function bytesOf(texts: readonly (string | undefined)[]): Pick<ByteLevelTables, 'bytes' | 'starts'> {
  const bytes: number[] = [];
  const starts = [0];
  const utf8 = new TextEncoder();
  for (let id = 0; id < texts.length; id++) {
    const text = texts[id] ?? '';
    const own = Array.from(text, (symbol) => byteOf.get(symbol));
    for (const byte of own.every((one) => one !== undefined) ? own : utf8.encode(text)) bytes.push(byte);
    starts.push(bytes.length);
  }
  return { bytes: shared(Uint8Array, bytes), starts: shared(Int32Array, starts) };
}

function unmergedWords(
  { pairs, byteIds, bytes, starts }: Omit<ByteLevelTables, 'unmerged'>,
  ids: ReadonlyMap<string, number>,
): Map<string, number> {
  const merge = pairMerger(pairs);
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const words = new Map<string, number>();
  for (const id of ids.values()) {
    const own = bytes.slice(starts[id], starts[id + 1]);
    const symbols = Int32Array.from(own, (byte) => byteIds[byte] as number);
    if (merge(symbols, symbols.length) === 1 && symbols[0] === id) continue;
    try {
      words.set(utf8.decode(own), id);
    } catch {
      // Half a character is no word of any text.
    }
  }
  return words;
}
