import type { RequestRecord } from '../records/request.ts';

/** How a field is packed: whole numbers, seconds to the microsecond, one of few words, any text, and lists. */
type Kind = 'count' | 'time' | 'word' | 'text' | 'times' | 'counts';

/** Every field of a record; absent ones take no room. At most 31. */
const kinds: Readonly<Record<keyof RequestRecord, Kind>> = {
  index: 'count',
  outcome: 'word',
  error: 'text',
  httpStatus: 'count',
  intendedSendS: 'time',
  sendS: 'time',
  firstEventS: 'time',
  firstTokenS: 'time',
  firstAnswerTokenS: 'time',
  tokenTimesS: 'times',
  tokenCounts: 'counts',
  emptyChoiceTimesS: 'times',
  lastEventS: 'time',
  lastTokenS: 'time',
  endS: 'time',
  promptTokens: 'count',
  serverPromptTokens: 'count',
  cachedTokens: 'count',
  outputTokensAsked: 'count',
  outputTokens: 'count',
  outputTokensBy: 'word',
  finishReason: 'word',
  text: 'text',
  malformedEvents: 'count',
  malformedText: 'text',
};
const fields = Object.entries(kinds) as readonly (readonly [keyof RequestRecord, Kind])[];

const blockBytes = 256 << 10;
/** Seven bits a byte: room for 2^53. */
const mostNumberBytes = 8;

/** Packed records, as one thread hands them to another. */
export interface PackedRecords {
  readonly count: number;
  readonly blocks: readonly Uint8Array[];
  readonly words: readonly string[];
}

/**
 * The records of a load, packed: a request of 16 tokens takes about a hundred bytes instead of a thousand, so that a
 * load of a million requests fits into memory. Iterating gives back records equal to those that were added, in their
 * order. Times must be whole microseconds, as those of an `Answer` are; they may not decrease within a list.
 */
export class RecordLog implements Iterable<RequestRecord> {
  readonly #packer = new Packer();
  #blocks: Uint8Array[] = [];
  #block = Buffer.alloc(0);
  #at = 0;
  #count = 0;
  /** What other threads packed, in the order in which it came. */
  readonly #others: PackedRecords[] = [];

  get length(): number {
    return this.#count + this.#others.reduce((sum, { count }) => sum + count, 0);
  }

  add(record: RequestRecord): void {
    const bytes = this.#packer.pack(record);
    if (this.#at + bytes.length > this.#block.length) {
      this.#closeBlock();
      this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, bytes.length));
    }
    bytes.copy(this.#block, this.#at);
    this.#at += bytes.length;
    this.#count++;
  }

  /** Takes over what another thread has packed. */
  addPacked(packed: PackedRecords): void {
    if (packed.count > 0) this.#others.push(packed);
  }

  /** Gives away what was packed so far, and begins anew. */
  take(): PackedRecords {
    // Only what is written: a message takes the memory behind a view along, all of it.
    this.#block = Buffer.from(this.#block.subarray(0, this.#at));
    this.#closeBlock();
    const packed = { count: this.#count, blocks: this.#blocks, words: [...this.#packer.words] };
    this.#blocks = [];
    this.#count = 0;
    return packed;
  }

  *[Symbol.iterator](): IterableIterator<RequestRecord> {
    const open = this.#block.subarray(0, this.#at);
    yield* unpack({ count: this.#count, blocks: [...this.#blocks, open], words: this.#packer.words });
    for (const packed of this.#others) yield* unpack(packed);
  }

  #closeBlock(): void {
    if (this.#at > 0) this.#blocks.push(this.#block.subarray(0, this.#at));
    this.#block = Buffer.alloc(0);
    this.#at = 0;
  }
}

/** Writes one record after another into the same memory. */
class Packer {
  readonly words: string[] = [];
  readonly #ids = new Map<string, number>();
  #bytes = Buffer.allocUnsafeSlow(4096);
  #at = 0;

  /** The bytes are valid until the next call. */
  pack(record: RequestRecord): Buffer {
    this.#at = 4;
    let present = 0;
    for (let i = 0; i < fields.length; i++) {
      const [name, kind] = fields[i] as (typeof fields)[number];
      const value = record[name];
      if (value === undefined) continue;
      present |= 1 << i;
      this.#put(kind, value);
    }
    this.#bytes.writeInt32LE(present, 0);
    return this.#bytes.subarray(0, this.#at);
  }

  #put(kind: Kind, value: unknown): void {
    if (kind === 'count') this.#number(value as number);
    else if (kind === 'time') this.#number(microseconds(value as number));
    else if (kind === 'word') this.#number(this.#idOf(value as string));
    else if (kind === 'text') this.#text(value as string);
    else if (kind === 'counts') this.#counts(value as readonly number[]);
    else this.#times(value as readonly number[]);
  }

  #counts(counts: readonly number[]): void {
    this.#number(counts.length);
    for (const count of counts) this.#number(count);
  }

  #times(times: readonly number[]): void {
    this.#number(times.length);
    let before = 0;
    for (let i = 0; i < times.length; i++) {
      const time = microseconds(times[i] as number);
      this.#number(time - before);
      before = time;
    }
  }

  #text(text: string): void {
    const length = Buffer.byteLength(text);
    this.#number(length);
    this.#room(length);
    this.#bytes.write(text, this.#at);
    this.#at += length;
  }

  #number(value: number): void {
    this.#room(mostNumberBytes);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }

  #idOf(word: string): number {
    const known = this.#ids.get(word);
    if (known !== undefined) return known;
    this.#ids.set(word, this.words.length);
    return this.words.push(word) - 1;
  }

  #room(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow((this.#at + length) * 2);
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** The records that were packed, one after the other. */
export function* unpack({ blocks, words }: PackedRecords): Generator<RequestRecord> {
  for (const block of blocks) {
    const reader = new Unpacker(block, words);
    while (!reader.done) yield reader.record();
  }
}

class Unpacker {
  readonly #bytes: Buffer;
  readonly #words: readonly string[];
  #at = 0;

  constructor(block: Uint8Array, words: readonly string[]) {
    this.#bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
    this.#words = words;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  record(): RequestRecord {
    const present = this.#bytes.readInt32LE(this.#at);
    this.#at += 4;
    const record: Record<string, unknown> = {};
    for (let i = 0; i < fields.length; i++) {
      if ((present & (1 << i)) === 0) continue;
      const [name, kind] = fields[i] as (typeof fields)[number];
      record[name] = this.#value(kind);
    }
    // The table of kinds has every field of a record, and what was packed was one.
    return record as unknown as RequestRecord;
  }

  #value(kind: Kind): unknown {
    if (kind === 'times') return this.#times();
    if (kind === 'counts') return Array.from({ length: this.#number() }, () => this.#number());
    const value = this.#number();
    if (kind === 'count') return value;
    if (kind === 'time') return value / 1e6;
    if (kind === 'word') return this.#words[value];
    this.#at += value;
    return this.#bytes.toString('utf8', this.#at - value, this.#at);
  }

  #times(): number[] {
    const times = new Array<number>(this.#number());
    let at = 0;
    for (let i = 0; i < times.length; i++) {
      at += this.#number();
      times[i] = at / 1e6;
    }
    return times;
  }

  #number(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#bytes[this.#at++] as number;
      if (byte < 0x80) return value + byte * scale;
      value += (byte - 0x80) * scale;
      scale *= 0x80;
    }
  }
}

const microseconds = (seconds: number): number => Math.round(seconds * 1e6);
