/** `data` for an ordinary event; `error` for `event: error` and for the `error:` field that some llama.cpp builds send. */
export type SseKind = 'data' | 'error';

/** Gets the text of each complete event, lines joined by `\n`, in order. */
export type SseSink = (text: string, kind: SseKind) => void;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const NONE = -1;
/** Longest line: servers that never end one must not fill our memory, thousands of streams at a time. */
const longestLine = 4 << 20;

/**
 * Splits a body of server-sent events, as bytes cut anywhere, into events by the rules of the HTML standard: lines end
 * with LF, CR or CRLF; comments, `id:` and `retry:` are ignored; several `data:` lines are one event; an event without
 * data is none. Two liberties: an event that the end of the body cuts off from its blank line counts, and `error:` is a
 * field.
 *
 * Works on bytes because U+2028 and its like are no line ends here, and because a character may be cut in two. A chunk is
 * only read during `push`; what must outlive it is copied, so the caller may reuse its memory.
 */
export class SseSplitter {
  readonly #sink: SseSink;
  /** The beginning of a line whose end has not come yet. */
  #partial = Buffer.alloc(0);
  #partialLength = 0;
  /** The last byte was a CR: a LF right after it belongs to it. */
  #afterCr = false;
  #firstLine = true;
  #data: string | undefined;
  #error: string | undefined;
  #isError = false;

  constructor(sink: SseSink) {
    this.#sink = sink;
  }

  /** Between two events: what comes next begins one, and nothing is kept of what came before. */
  get idle(): boolean {
    return (
      this.#partialLength === 0 &&
      !this.#afterCr &&
      this.#data === undefined &&
      this.#error === undefined &&
      !this.#isError
    );
  }

  /** Whole events were read without this splitter: what comes is not the beginning of the body any more. */
  passed(): void {
    this.#firstLine = false;
  }

  push(chunk: Buffer): void {
    const length = chunk.length;
    if (length === 0) return;
    let start = this.#afterCr && chunk[0] === LF ? 1 : 0;
    this.#afterCr = false;
    let lf = chunk.indexOf(LF, start);
    let cr = chunk.indexOf(CR, start);
    while (lf !== NONE || cr !== NONE) {
      if (cr !== NONE && (lf === NONE || cr < lf)) {
        this.#endLine(chunk, start, cr);
        start = cr + 1;
        if (start === length) this.#afterCr = true;
        else if (chunk[start] === LF) start++;
        cr = chunk.indexOf(CR, start);
        if (lf !== NONE && lf < start) lf = chunk.indexOf(LF, start);
      } else {
        this.#endLine(chunk, start, lf);
        start = lf + 1;
        lf = chunk.indexOf(LF, start);
      }
    }
    if (start < length) this.#keep(chunk, start, length);
  }

  /** The body is over: what is left is the last event. */
  end(): void {
    if (this.#partialLength > 0) this.#endLine(this.#partial, 0, 0);
    this.#dispatch();
  }

  #keep(chunk: Buffer, start: number, end: number): void {
    const needed = this.#partialLength + end - start;
    if (needed > longestLine) {
      this.#partialLength = 0;
      this.#sink(`the stream has a line of over ${longestLine >> 20} MiB`, 'error');
      return;
    }
    if (needed > this.#partial.length) {
      // Doubling keeps a long line that comes in small pieces from costing its length squared.
      const larger = Buffer.allocUnsafe(Math.max(needed * 2, 256));
      this.#partial.copy(larger, 0, 0, this.#partialLength);
      this.#partial = larger;
    }
    chunk.copy(this.#partial, this.#partialLength, start, end);
    this.#partialLength = needed;
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    if (this.#partialLength === 0) {
      this.#line(chunk, start, end);
      return;
    }
    if (start < end) this.#keep(chunk, start, end);
    const length = this.#partialLength;
    this.#partialLength = 0;
    this.#line(this.#partial, 0, length);
  }

  #line(bytes: Buffer, from: number, end: number): void {
    let start = from;
    if (this.#firstLine) {
      this.#firstLine = false;
      if (end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf)
        start += 3;
    }
    if (start === end) {
      this.#dispatch();
      return;
    }
    if (isField(bytes, start, end, DATA)) {
      const text = fieldValue(bytes, start + DATA.length, end);
      this.#data = this.#data === undefined ? text : `${this.#data}\n${text}`;
    } else if (isField(bytes, start, end, ERROR)) {
      const text = fieldValue(bytes, start + ERROR.length, end);
      this.#error = this.#error === undefined ? text : `${this.#error}\n${text}`;
    } else if (isField(bytes, start, end, EVENT)) {
      this.#isError = fieldValue(bytes, start + EVENT.length, end) === 'error';
    }
  }

  #dispatch(): void {
    const data = this.#data;
    const error = this.#error;
    const isError = this.#isError;
    this.#data = undefined;
    this.#error = undefined;
    this.#isError = false;
    // The error goes first: a `[DONE]` in the same event would otherwise end the request before it is seen.
    if (error) this.#sink(error, 'error');
    if (data) this.#sink(data, isError ? 'error' : 'data');
  }
}

const DATA = Buffer.from('data');
const ERROR = Buffer.from('error');
const EVENT = Buffer.from('event');

/** The line's name is `name`: it stands at the start and a colon, or the end of the line, follows. */
function isField(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  const length = name.length;
  const after = start + length;
  if (after > end || (after < end && bytes[after] !== COLON)) return false;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

/** What follows the colon at `at`, without the one space that may stand after it; empty for a line without a colon. */
function fieldValue(bytes: Buffer, at: number, end: number): string {
  let start = at + 1;
  if (start < end && bytes[start] === SPACE) start++;
  return start < end ? bytes.toString('utf8', start, end) : '';
}
