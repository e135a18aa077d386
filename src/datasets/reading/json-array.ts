import { createReadStream } from 'node:fs';
import { InputError, messageOf, systemCode } from '../../kit/errors.ts';

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const open = { array: 0x5b, object: 0x7b } as const;
const close = { array: 0x5d, object: 0x7d } as const;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const chunkBytes = 4 * 2 ** 20;

/**
 * The elements of the JSON array that a file holds, one after the other, in the memory of a few megabytes and the
 * largest element: V8 has no strings of over 512 MB, which the whole text of a common dataset would need.
 *
 * Throws an InputError under `place` (the flag that named the file) when it cannot be read, holds no array, or ends
 * within it, with the number of the element counted from 1.
 */
export async function* jsonArray(path: string, place: string, signal: AbortSignal): AsyncGenerator<unknown> {
  const fail = (message: string, hint = 'give a file that holds one JSON array'): InputError =>
    new InputError([{ place, message: `${path} ${message}`, hint }]);
  const splitter = elementSplitter();
  let count = 0;
  let rest: Buffer = Buffer.alloc(0);
  let atStart = true;

  const stream = createReadStream(path, { highWaterMark: chunkBytes });
  try {
    for await (const chunk of stream) {
      signal.throwIfAborted();
      let bytes: Buffer = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      if (atStart && bytes.length >= 3) {
        if (bytes.subarray(0, 3).equals(byteOrderMark)) bytes = bytes.subarray(3);
        atStart = false;
      }
      const { elements, keptFrom } = splitter.feed(bytes);
      for (const [from, to] of elements) {
        count++;
        yield parsed(bytes, from, to, (why) => fail(`is not valid JSON at row ${count}: ${why}`));
      }
      rest = bytes.subarray(keptFrom);
      if (splitter.problem()) break;
    }
  } catch (error) {
    const code = error instanceof InputError ? undefined : systemCode(error);
    if (code !== undefined) throw fail(`cannot be read: ${code}`, 'name a file that can be read');
    throw error;
  } finally {
    stream.destroy();
  }

  const problem = splitter.problem();
  if (problem) throw fail(problem);
  if (splitter.state() === 'before') throw fail('is empty');
  if (splitter.state() === 'within') {
    throw fail(`ends in the middle of row ${count + 1}`, 'fetch it again: it was cut off');
  }
}

function parsed(bytes: Buffer, from: number, to: number, fail: (why: string) => InputError): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', from, to));
  } catch (error) {
    throw fail(messageOf(error));
  }
}

interface ElementSplitter {
  /** Looks at what was kept of the last bytes and new ones behind it; gives where the elements lie that end in them. */
  feed(bytes: Buffer): {
    readonly elements: readonly (readonly [from: number, to: number])[];
    readonly keptFrom: number;
  };
  state(): 'before' | 'within' | 'after';
  /** Why this is no array, as the rest of a sentence. */
  problem(): string | null;
}

/** Finds where the elements of the outermost array begin and end. Whether each is valid JSON is for its parser to say. */
function elementSplitter(): ElementSplitter {
  let state: 'before' | 'within' | 'after' = 'before';
  let problem: string | null = null;
  let depth = 0;
  let inString = false;
  /** Where to go on within the kept bytes, and how many backslashes stand right before. */
  let at = 0;
  let begun = 0;
  let seen: 'nothing' | 'comma' | 'element' = 'nothing';

  return {
    state: () => state,
    problem: () => problem,
    feed(bytes) {
      const elements: (readonly [number, number])[] = [];
      for (; at < bytes.length && !problem; at++) {
        if (inString) {
          const end = bytes.indexOf(quote, at);
          if (end === -1) {
            at = bytes.length;
            break;
          }
          at = end;
          // A string never begins before the element that holds it, so its backslashes are all among the kept bytes.
          inString = isEscaped(bytes, end);
          continue;
        }
        const byte = bytes[at] as number;
        if (isSpace(byte)) continue;
        if (state === 'after') problem = 'has more than one JSON array';
        else if (state === 'before') {
          if (byte !== open.array) problem = 'does not hold a JSON array';
          state = 'within';
          begun = at + 1;
        } else if (byte === quote) {
          inString = true;
          seen = 'element';
        } else if (byte === open.array || byte === open.object) {
          depth++;
          seen = 'element';
        } else if (depth > 0) {
          if (byte === close.array || byte === close.object) depth--;
        } else if (byte === comma) {
          elements.push([begun, at]);
          begun = at + 1;
          seen = 'comma';
        } else if (byte === close.array) {
          // Nothing before the bracket is an empty array; nothing behind a comma is for the parser to complain of.
          if (seen !== 'nothing') elements.push([begun, at]);
          state = 'after';
          begun = at + 1;
        } else seen = 'element';
      }
      const keptFrom = state === 'before' ? at : Math.min(begun, at);
      at -= keptFrom;
      begun -= keptFrom;
      return { elements, keptFrom };
    },
  };
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Whether an odd number of backslashes stands right before this place. */
function isEscaped(bytes: Buffer, place: number): boolean {
  let before = place - 1;
  while (before >= 0 && bytes[before] === backslash) before--;
  return (place - before) % 2 === 0;
}
