import type { ImportedResult } from '../records/imported.ts';

/** The file that a text came from. */
export interface ImportFile {
  /** As given, for people: the place of a problem begins with it. */
  readonly path: string;
  /** As results keep it. */
  readonly name: string;
  /** Of its bytes, hexadecimal. */
  readonly sha256: string;
}

/** One foreign format of results. Readers compute nothing: they give what the text says, and null for the rest. */
export interface Importer {
  /** As typed after `--format`. */
  readonly name: string;
  /** One line for `--help`. */
  readonly description: string;
  /** Whether the text holds at least one result of this format. Cheap, and never throws. */
  recognises(text: string, path: string): boolean;
  /**
   * Every result in the text, in its order; each with its own place. Throws one InputError with everything that could
   * not be read, each with its line, also when there is no result at all.
   */
  read(text: string, file: ImportFile): readonly ImportedResult[];
}
