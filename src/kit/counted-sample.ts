import { percentileOf } from './numbers.ts';

/** Slots for values up to 4.2 s; a page of them that nothing falls into takes no memory. */
const slots = 2 ** 22;

/**
 * Durations that come one by one, kept to the microsecond by counting how often each length came: any number of them takes
 * the same memory, and none needs to be sorted.
 */
export class CountedSample {
  readonly #counts = new Uint32Array(slots);
  /** Longer ones, by their microseconds; there cannot be many in one load. */
  readonly #long = new Map<number, number>();
  /** Of the slots that count something, the last. */
  #last = -1;

  /** Adds a duration in seconds; one below zero counts as none. */
  add(seconds: number): void {
    const length = Math.max(0, Math.round(seconds * 1e6));
    if (length < slots) {
      this.#counts[length] = (this.#counts[length] as number) + 1;
      if (length > this.#last) this.#last = length;
    } else this.#long.set(length, (this.#long.get(length) ?? 0) + 1);
  }

  /** What they come to, in seconds; `percentiles` are 0 to 100, numpy's `linear`. Everything is null of none. */
  reduce(percentiles: readonly number[]) {
    const lengths: number[] = [];
    /** How many are at most as long as each of `lengths`. */
    const upTo: number[] = [];
    let [n, sum] = [0, 0];
    for (const [length, count] of this.#ascending()) {
      n += count;
      sum += length * count;
      lengths.push(length);
      upTo.push(n);
    }
    const mean = n === 0 ? null : sum / n / 1e6;
    let squares = 0;
    for (const [length, count] of this.#ascending()) squares += count * (length / 1e6 - (mean ?? 0)) ** 2;
    const at = (rank: number): number => (lengths[firstAbove(upTo, rank)] as number) / 1e6;
    return {
      n,
      mean,
      median: percentileOf(n, at, 50),
      sd: n === 0 ? null : Math.sqrt(squares / n),
      min: n === 0 ? null : at(0),
      max: n === 0 ? null : at(n - 1),
      percentiles: Object.fromEntries(percentiles.map((p) => [String(p), percentileOf(n, at, p)])),
    };
  }

  *#ascending(): Generator<readonly [number, number]> {
    for (let length = 0; length <= this.#last; length++) {
      const count = this.#counts[length] as number;
      if (count > 0) yield [length, count];
    }
    yield* [...this.#long].sort(([a], [b]) => a - b);
  }
}

/** Where the first of ascending numbers stands that is above `value`. */
function firstAbove(numbers: readonly number[], value: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] as number) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
