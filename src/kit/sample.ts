/** Numbers that come one by one, kept in eight bytes each. */
export class Sample {
  #values = new Float64Array(0);
  #length = 0;
  readonly #expected: number;

  /** `expected`: how many will come, as far as is known. With enough of them, nothing is ever copied. */
  constructor(expected = 0) {
    this.#expected = expected;
  }

  add(value: number): void {
    if (this.#length === this.#values.length) this.#grow();
    this.#values[this.#length++] = value;
  }

  /** All of them in ascending order; none may be NaN. Sorted in place: the view is good until the next `add`. */
  ascending(): Float64Array {
    // The bits of two doubles, taken for whole numbers, compare as the doubles do, only that negative ones are the wrong
    // way round; and whole numbers are sorted in less than half the time.
    const bits = new BigInt64Array(this.#values.buffer, 0, this.#length).sort();
    const values = this.#values.subarray(0, this.#length);
    const from = bits.findIndex((value) => value >= 0n);
    values.subarray(0, from < 0 ? this.#length : from).reverse();
    return values;
  }

  /** Room that is not written to takes no memory, so the first is for all that are expected. */
  #grow(): void {
    const larger = new Float64Array(Math.max(16, this.#expected, 2 * this.#length));
    larger.set(this.#values);
    this.#values = larger;
  }
}
