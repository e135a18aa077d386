const leastCapacity = 256;
/** From here on a byte is part of a longer character. */
const PAST_ASCII = 0x80;

/**
 * The text of an answer, gathered piece by piece. Pieces that come as bytes stay bytes until somebody asks: thousands of
 * them cost no string each.
 */
export class RawText {
  #text = '';
  /** What follows `#text`, in ASCII. */
  #bytes: Buffer | undefined;
  #length = 0;

  add(text: string): void {
    this.#text = this.toString() + text;
  }

  /** Adds what stands in `bytes` from `start` up to `end`, whole characters of UTF-8. */
  addBytes(bytes: Buffer, start: number, end: number): void {
    const needed = this.#length + end - start;
    if (this.#bytes === undefined || needed > this.#bytes.length) this.#grow(needed);
    const into = this.#bytes as Buffer;
    let at = this.#length;
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      if (byte >= PAST_ASCII) {
        this.add(bytes.toString('utf8', start, end));
        return;
      }
      into[at++] = byte;
    }
    this.#length = at;
  }

  replace(text: string): void {
    this.#length = 0;
    this.#text = text;
  }

  toString(): string {
    if (this.#length > 0) {
      this.#text += (this.#bytes as Buffer).toString('latin1', 0, this.#length);
      this.#length = 0;
    }
    return this.#text;
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafe(Math.max(leastCapacity, needed * 2));
    this.#bytes?.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
