/** Numbers that come one by one, in eight bytes each; a hundred million of them fit where as many objects would not. */
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

  /** All of them in ascending order. Sorted in place: the view is good until the next `add`. */
  ascending(): Float64Array {
    return this.#values.subarray(0, this.#length).sort();
  }

  /** Room that is not written to takes no memory, so the first is for all that are expected. */
  #grow(): void {
    const larger = new Float64Array(Math.max(16, this.#expected, 2 * this.#length));
    larger.set(this.#values);
    this.#values = larger;
  }
}
