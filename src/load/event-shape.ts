import type { EventReader, StreamEvent } from '../endpoints/endpoint.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
/** Stands in for the text, and for the id, when a shape is tried out; no server's own word. */
const probe = 'servetune?';

/** Where the text stands in the event that matched last, of whatever shape. */
export const matched = { textStart: 0, textEnd: 0 };

/**
 * What events have in common that differ in nothing but their text and the id of their answer, so that thousands of them
 * need not be parsed. A shape is the bytes around these two, and it is only taken when the dialect's reader, given the
 * event with another text and another id, says the same with that text: whatever strings stand there, parsing would find
 * nothing else. Strings with escapes, and events of any other shape, are left to the parser.
 *
 * All answers share it: bytes that thousands of streams compare with should not be thousands of bytes in memory.
 */
export class EventShape {
  /** Up to the id; of events without an id, up to the text. */
  readonly #head: Buffer;
  /** From the end of the id up to the text; undefined without an id. */
  readonly #middle: Buffer | undefined;
  /** From the end of the text to the end of the event. */
  readonly #after: Buffer;
  /** Whether the text is the answer's, or on another channel. */
  readonly isAnswer: boolean;
  /** Whether the dialect calls it a choice. */
  readonly isChoice: boolean;

  constructor(parts: readonly [string, string | undefined, string], { answer, choice }: StreamEvent) {
    const [head, middle, after] = parts;
    this.#head = Buffer.from(head);
    this.#middle = middle === undefined ? undefined : Buffer.from(middle);
    this.#after = Buffer.from(after);
    this.isAnswer = answer;
    this.isChoice = choice === true;
  }

  /** Where the event ends that begins at `at`, if it has the shape and ends before `limit`; else -1. */
  match(bytes: Buffer, at: number, limit: number): number {
    if (!standsAt(bytes, at, limit, this.#head)) return -1;
    let start = at + this.#head.length;
    const middle = this.#middle;
    if (middle !== undefined) {
      const idEnd = stringEnd(bytes, start, limit);
      if (idEnd <= start || !standsAt(bytes, idEnd, limit, middle)) return -1;
      start = idEnd + middle.length;
    }
    const end = stringEnd(bytes, start, limit);
    if (end <= start || !standsAt(bytes, end, limit, this.#after)) return -1;
    matched.textStart = start;
    matched.textEnd = end;
    return end + this.#after.length;
  }
}

/** The shape of the event that `bytes` begin with, which the parser has read as `said`; undefined if it has none. */
export function shapeOf(bytes: Buffer, said: StreamEvent, reader: EventReader): EventShape | undefined {
  const { text } = said;
  if (text === undefined || !saysOnly(said, text)) return undefined;
  const raw = firstEvent(bytes);
  if (raw === undefined) return undefined;
  const quoted = `"${text}"`;
  const at = raw.indexOf(quoted);
  if (at < 0 || raw.indexOf(quoted, at + 1) >= 0 || !/^[^"\\\p{Cc}]+$/u.test(text)) return undefined;
  const before = raw.slice(0, at + 1);
  const after = raw.slice(at + 1 + text.length);
  if (!saysOnly(readAs(`${before}${probe}${after}`, reader), probe, said.answer)) return undefined;
  const [head, middle] = aroundId(before);
  if (middle !== undefined) {
    const withOtherId = readAs(`${head}${probe}${middle}${probe}${after}`, reader);
    if (saysOnly(withOtherId, probe, said.answer)) return new EventShape([head, middle, after], said);
  }
  return new EventShape([before, undefined, after], said);
}

/** What stands before and behind the one id in the beginning of an event. */
function aroundId(before: string): readonly [string, string | undefined] {
  const id = /"id": ?"([^"\\]+)"/.exec(before)?.[1];
  if (id === undefined) return [before, undefined];
  const at = before.indexOf(`"${id}"`) + 1;
  const middle = before.slice(at + id.length);
  return middle.includes(`"${id}"`) ? [before, undefined] : [before.slice(0, at), middle];
}

/** Whether `expected` stands at `at`, before `limit`. A loop, because it costs less than a call out of JavaScript. */
function standsAt(bytes: Buffer, at: number, limit: number, expected: Buffer): boolean {
  const { length } = expected;
  if (at + length > limit) return false;
  for (let i = 0; i < length; i++) if (bytes[at + i] !== expected[i]) return false;
  return true;
}

/** Where a JSON string without escapes that begins at `start` has its closing quote; -1 where it has none here. */
function stringEnd(bytes: Buffer, start: number, limit: number): number {
  for (let end = start; end < limit; end++) {
    const byte = bytes[end] as number;
    if (byte === QUOTE) return end;
    if (byte === BACKSLASH || byte < SPACE) return -1;
  }
  return -1;
}

/** The text of the event that the bytes begin with, its blank line included: one line of data, and nothing else. */
function firstEvent(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8', 0, Math.min(bytes.length, 4096));
  return /^data: ?\{[^\r\n]*(?:\n\n|\r\n\r\n)/.exec(text)?.[0];
}

function readAs(event: string, reader: EventReader): StreamEvent | undefined {
  try {
    return reader(JSON.parse(event.replace(/^data:/, '')));
  } catch {
    return undefined;
  }
}

/** Says that there is a token with this text, and not a word more. */
function saysOnly(said: StreamEvent | undefined, text: string, answer = said?.answer): boolean {
  if (said === undefined) return false;
  const { token, answer: isAnswer, text: read, choice: _, ...more } = said;
  return token && isAnswer === answer && read === text && Object.values(more).every((value) => value === undefined);
}
