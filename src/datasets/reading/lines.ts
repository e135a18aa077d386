import { fileError, textPieces } from './dataset-file.ts';

export interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** Without its line break. */
  readonly text: string;
  /** Whether a line break ends it: the last one may end with the file. */
  readonly ended: boolean;
}

/** No row of a dataset is longer; what is, is another kind of file. */
const mostCharacters = 2 ** 26;

/**
 * The lines of a file, which end in LF, CRLF or CR, as Python reads text. Not `readline`, which also cuts at U+2028
 * within a JSON string. Throws an InputError for a line of over 268 M characters.
 */
export async function* textLines(path: string, signal: AbortSignal): AsyncGenerator<Line> {
  const ends = /\r\n|\n|\r/g;
  let number = 0;
  let begun: string[] = [];
  let begunLength = 0;
  let heldBack = '';

  const lineOf = (end: string, ended: boolean): Line => {
    const text = begun.length === 0 ? end : [...begun, end].join('');
    begun = [];
    begunLength = 0;
    return { number: ++number, text, ended };
  };

  for await (const read of textPieces(path, signal)) {
    let piece = heldBack + read;
    // Whether a CR ends a line alone is only known with the character behind it.
    heldBack = piece.endsWith('\r') ? '\r' : '';
    piece = piece.slice(0, piece.length - heldBack.length);
    let from = 0;
    for (const { 0: end, index } of piece.matchAll(ends)) {
      yield lineOf(piece.slice(from, index), true);
      from = index + end.length;
    }
    if (from < piece.length) begun.push(piece.slice(from));
    begunLength += piece.length - from;
    if (begunLength > mostCharacters) {
      throw fileError(`line ${number + 1} of ${path} is too long`, 'give a text file with one row a line');
    }
  }
  if (begunLength > 0 || heldBack !== '') yield lineOf('', heldBack !== '');
}
