import type { ChatTemplate } from './chat-template.ts';

/** Turns text into token ids and back, a batch at a time, so that one behind a network can work ahead. */
export interface Tokenizer {
  /** For people: where it comes from. */
  readonly name: string;
  /** SHA-256 of the bytes of the `tokenizer.json`, in hex; null where that is not known, as behind a server. */
  readonly fingerprint: string | null;
  /** The model's own way to write a chat down; null where it has none, or none is known. */
  readonly chatTemplate: ChatTemplate | null;
  /** Entries of the base vocabulary, added tokens not counted: ids 0 to `vocabSize - 1` stand for pieces of text. */
  readonly vocabSize: number;
  /** Ids below `vocabSize` that are special tokens all the same, ascending; they must not stand in a random prompt. */
  readonly specialIds: readonly number[];
  /** Special tokens that it adds to a single text by itself (a beginning-of-sequence token); `encode` adds none. */
  readonly specialTokenCount: number;
  /** The ids of each text. Special tokens that stand in the text are recognised, none is added. */
  encode(texts: readonly string[], signal?: AbortSignal): Promise<readonly (readonly number[])[]>;
  /** The text of each list of ids, special tokens included, spaces left as they are; broken UTF-8 becomes U+FFFD. */
  decode(ids: readonly (readonly number[])[], signal?: AbortSignal): Promise<readonly string[]>;
  /** Ends the threads that big batches have started; a later batch starts new ones. Absent where there are none. */
  close?(): Promise<void>;
}
