import { byteLevelCodec } from './byte-level.ts';
import { type ByteLevelTables, byteLevelTables } from './byte-tables.ts';
import type { Codec } from './codec.ts';
import { libraryCodec } from './library.ts';

/** What a thread needs to make a codec of its own; it can be sent to one. */
export type CodecSource =
  | { readonly kind: 'byte-level'; readonly tables: ByteLevelTables }
  | { readonly kind: 'library'; readonly text: string };

/** By bytes where the `tokenizer.json` is of that form, as nearly all of this decade's are; else by the library. */
export function sourceOf(text: string, json: unknown): CodecSource {
  const tables = byteLevelTables(json);
  return tables ? { kind: 'byte-level', tables } : { kind: 'library', text };
}

/** Throws where the library does not know the form. */
export const codecOf = (source: CodecSource): Codec =>
  source.kind === 'byte-level' ? byteLevelCodec(source.tables) : libraryCodec(JSON.parse(source.text));
