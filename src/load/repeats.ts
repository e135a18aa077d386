import type { EventReader, StreamEvent } from '../endpoints/endpoint.ts';

/** Shapes that were learned and never seen again: after that many, the events of a stream are known to differ. */
const mostFruitless = 3;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
/** Stands in for the text, and for the id, when a shape is tried out; no server's own word. */
const probe = 'servetune?';

/** The shape that events of other answers had, which differ in an id as well. */
export interface CommonShape {
  /** Up to the id. */
  readonly head: Buffer;
  /** From the end of the id to the text. */
  readonly middle: Buffer;
  readonly after: Buffer;
  readonly isAnswer: boolean;
  readonly isChoice: boolean;
}

/**
 * Recognises events of one stream that differ from an event already read in nothing but the text that they carry, so
 * that thousands of them need not be parsed. A shape is the bytes before and after the text, and it is only taken when
 * the dialect's reader, given that event with another text, says the same with that text: whatever string stands there,
 * parsing would find nothing else. Strings with escapes, and events of any other shape, are left to the parser.
 */
export class Repeats {
  #before: Buffer | undefined;
  #after: Buffer = Buffer.alloc(0);
  #fruitless = 0;
  #matched = true;
  /** Of the event that matched last: where its text stands. */
  textStart = 0;
  textEnd = 0;
  /** Whether its text is the answer's, or on another channel. */
  isAnswer = false;
  /** Whether the dialect calls it a choice. */
  isChoice = false;
  /** What other answers can know of the shape that was learned last. */
  common: CommonShape | undefined;

  /** Whether it wants to see events that did not match. */
  get learns(): boolean {
    return this.#fruitless < mostFruitless;
  }

  /** Whether no shape is known yet. */
  get isNew(): boolean {
    return this.#before === undefined;
  }

  /** Takes the shape of other answers over when the event at `at` has it, whatever its id is. */
  adopt(bytes: Buffer, at: number, { head, middle, after, isAnswer, isChoice }: CommonShape): void {
    const start = at + head.length;
    if (start >= bytes.length || bytes.compare(head, 0, head.length, at, start) !== 0) return;
    const end = stringEnd(bytes, start);
    const stop = end + middle.length;
    if (end <= start || stop >= bytes.length || bytes.compare(middle, 0, middle.length, end, stop) !== 0) return;
    this.#before = Buffer.from(bytes.subarray(at, stop));
    this.#after = after;
    this.#matched = false;
    this.isAnswer = isAnswer;
    this.isChoice = isChoice;
  }

  /** Where the event ends that begins at `at`, if it has the shape; else -1. */
  match(bytes: Buffer, at: number): number {
    const before = this.#before;
    if (before === undefined) return -1;
    const start = at + before.length;
    const { length } = bytes;
    if (start >= length || bytes.compare(before, 0, before.length, at, start) !== 0) return -1;
    const end = stringEnd(bytes, start);
    const stop = end + this.#after.length;
    if (end <= start || stop > length || bytes.compare(this.#after, 0, this.#after.length, end, stop) !== 0) return -1;
    this.#matched = true;
    this.textStart = start;
    this.textEnd = end;
    return stop;
  }

  /** Learns the shape of the event that `bytes` begin with, which the parser has read as `said`. */
  learn(bytes: Buffer, said: StreamEvent, reader: EventReader): void {
    const { text } = said;
    if (text === undefined || !saysOnly(said, text)) return;
    const raw = firstEvent(bytes);
    if (raw === undefined) return;
    const quoted = `"${text}"`;
    const at = raw.indexOf(quoted);
    if (at < 0 || raw.indexOf(quoted, at + 1) >= 0 || !/^[^"\\\p{Cc}]+$/u.test(text)) return;
    const before = raw.slice(0, at + 1);
    const after = raw.slice(at + 1 + text.length);
    if (!saysOnly(readAs(`${before}${probe}${after}`, reader), probe, said.answer)) return;
    // Of what was learned before, nothing came again.
    if (!this.#matched) this.#fruitless++;
    this.#matched = false;
    this.#before = Buffer.from(before);
    this.#after = Buffer.from(after);
    this.isAnswer = said.answer;
    this.isChoice = said.choice === true;
    this.common = this.#commonOf(before, after, reader);
  }

  /** The shape with any id in the place of this answer's, if the reader does not mind. */
  #commonOf(before: string, after: string, reader: EventReader): CommonShape | undefined {
    const id = /"id": ?"([^"\\]+)"/.exec(before)?.[1];
    if (id === undefined) return undefined;
    const at = before.indexOf(`"${id}"`) + 1;
    const head = before.slice(0, at);
    const middle = before.slice(at + id.length);
    if (middle.includes(`"${id}"`)) return undefined;
    if (!saysOnly(readAs(`${head}${probe}${middle}${probe}${after}`, reader), probe, this.isAnswer)) return undefined;
    const { isAnswer, isChoice } = this;
    return { head: Buffer.from(head), middle: Buffer.from(middle), after: this.#after, isAnswer, isChoice };
  }
}

/** Where a JSON string without escapes that begins at `start` has its closing quote; -1 where it has none here. */
function stringEnd(bytes: Buffer, start: number): number {
  for (let end = start; end < bytes.length; end++) {
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
