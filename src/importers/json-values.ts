import { messageOf, type Problem } from '../kit/errors.ts';

/** One value of a text with one or more JSON values. */
export interface JsonValue {
  readonly value: unknown;
  /** Its own text. */
  readonly text: string;
  /** Where it begins, from 1. */
  readonly line: number;
  readonly column: number;
}

/**
 * The values of a text that holds one JSON value or several after each other, on a line each or not; an array at the
 * top is taken for its elements. Python's `NaN` and `Infinity`, which its `json` module writes, are read as null.
 * What is no JSON is a problem with its line; `place` makes its place of it.
 */
export function jsonValues(
  text: string,
  place: (line: number) => string,
): { readonly values: readonly JsonValue[]; readonly problems: readonly Problem[] } {
  const values: JsonValue[] = [];
  const problems: Problem[] = [];
  const scan = scanner(text);
  for (let piece = scan(); piece !== undefined; piece = scan()) {
    const { text: own, line, column, complete } = piece;
    if (!complete) {
      problems.push({
        place: place(line),
        message: 'the JSON that begins here does not end',
        hint: 'the file was cut, or is still being written',
      });
      break;
    }
    try {
      values.push({ value: parsed(own), text: own, line, column });
    } catch (error) {
      problems.push({
        place: place(line),
        message: `is no JSON: ${messageOf(error)}`,
        hint: 'each result is one JSON object',
      });
      if (problems.length >= mostProblems) break;
    }
  }
  return { values, problems };
}

/** After so many a file is simply not JSON. */
const mostProblems = 20;

interface Piece {
  readonly text: string;
  readonly line: number;
  readonly column: number;
  readonly complete: boolean;
}

/** Cuts a text at the ends of its outermost objects; brackets and commas of an array around them are passed over. */
function scanner(text: string): () => Piece | undefined {
  let at = 0;
  let line = 1;
  let lineStart = 0;
  return () => {
    let depth = 0;
    let start = 0;
    let startLine = 0;
    let column = 0;
    let quoted = false;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 10) {
        line++;
        lineStart = at + 1;
      }
      if (quoted) {
        if (code === 92) at++;
        else if (code === 34) quoted = false;
        continue;
      }
      if (depth === 0) {
        if (code === 123) {
          depth = 1;
          start = at;
          startLine = line;
          column = at - lineStart + 1;
        } else if (!isBetween(code)) {
          const end = text.indexOf('\n', at);
          const rest = text.slice(at, end < 0 ? text.length : end);
          const piece = { text: rest, line, column: at - lineStart + 1, complete: true };
          at += rest.length;
          return piece;
        }
      } else if (code === 34) quoted = true;
      else if (code === 123) depth++;
      else if (code === 125 && --depth === 0) {
        at++;
        return { text: text.slice(start, at), line: startLine, column, complete: true };
      }
    }
    return depth === 0 ? undefined : { text: text.slice(start), line: startLine, column, complete: false };
  };
}

/** Blanks, the comma and the brackets of an array. */
const isBetween = (code: number): boolean => code <= 32 || code === 44 || code === 91 || code === 93;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const strict = text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (found) =>
      found.startsWith('"') ? found : 'null',
    );
    if (strict === text) throw error;
    return JSON.parse(strict);
  }
}
