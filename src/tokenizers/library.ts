import { Tokenizer as LibraryTokenizer } from '@huggingface/tokenizers';
import type { Codec } from './codec.ts';
import { wordMerger } from './pair-merge.ts';

/** What is used of the library, whose own types do not resolve under NodeNext. */
interface Library {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: number[]): string;
  readonly model: Model;
  readonly decoder: Decoder | null;
}
interface Decoder {
  readonly config: { readonly type?: string };
  readonly decoders?: readonly Decoder[];
  /** Turns bytes in a row into text. */
  text_decoder?: { decode(bytes: Uint8Array): string };
}
interface Model {
  /** The text of each id. */
  readonly vocab: readonly (string | undefined)[];
  readonly merges?: readonly (readonly [string, string])[];
  readonly end_of_word_suffix?: string | null;
  readonly continuing_subword_suffix?: string | null;
  /** Merges the characters of one word. */
  bpe?: (word: string) => string[];
}

/**
 * Any kind of `tokenizer.json` (parsed), by Hugging Face's library in pure JavaScript. `special` makes `encode` add
 * the special tokens that the tokenizer adds by itself. Throws where the library does not know the form.
 */
export function libraryCodec(json: unknown, special = false): Codec {
  // Unless told otherwise, the library tidies spaces before punctuation when it decodes, and lengths would change.
  const library: Library = new LibraryTokenizer(json as object, { clean_up_tokenization_spaces: false });
  mergeFaster(library.model);
  decodeBytesExactly(library.decoder);
  return {
    encode: (text) => library.encode(text, { add_special_tokens: special }).ids,
    decode(ids) {
      // The library would write an id that does not exist as an unknown word, and refuses an empty list.
      const existing = ids.filter((id) => library.model.vocab[id] !== undefined);
      return existing.length === 0 ? '' : library.decode(existing);
    },
  };
}

/** Merged words that are remembered; the second reading of a text finds most of its words here. */
const rememberedWords = 100_000;
/** Longer words hardly come twice. */
const rememberedLength = 256;

/**
 * Lets the library merge pairs by numbers where it would spend most of its time otherwise: it writes each pair as JSON
 * to look up its rank, and random text has long words.
 */
function mergeFaster(model: Model): void {
  if (!model.merges || !model.bpe || model.end_of_word_suffix || model.continuing_subword_suffix) return;
  const merge = wordMerger(model.merges);
  const known = new Map<string, string[]>();
  model.bpe = (word) => {
    const found = known.get(word);
    if (found) return found;
    const parts = merge(word);
    if (word.length > rememberedLength) return parts;
    if (known.size >= rememberedWords) known.clear();
    known.set(word, parts);
    return parts;
  };
}

/**
 * Has bytes that stand in a vocabulary beside words decoded as in machine code: if those in a row are not UTF-8
 * altogether, each becomes U+FFFD, and a byte order mark stays. The library replaces broken parts, and drops the mark.
 */
function decodeBytesExactly(decoder: Decoder | null): void {
  for (const one of [decoder, ...(decoder?.decoders ?? [])]) {
    if (one?.config.type !== 'ByteFallback') continue;
    const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    one.text_decoder = {
      decode(bytes) {
        try {
          return utf8.decode(bytes);
        } catch {
          return '\ufffd'.repeat(bytes.length);
        }
      },
    };
  }
}
