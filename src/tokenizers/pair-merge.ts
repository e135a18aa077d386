/** Which neighbours join, at which rank, to what; as numbers in shared memory, so that threads can read one copy. */
export interface PairTable {
  /** Three numbers a place, found by hashing: left symbol, right symbol, rank; an empty place has -1 on the left. */
  readonly places: Int32Array;
  /** What the pair of each rank becomes. */
  readonly joined: Int32Array;
}

/** A pair of symbols and the symbol that they become. */
export type Merge = readonly [left: number, right: number, joined: number];

/** Larger than any rank. */
const none = 0x7fffffff;
/** Symbols from which on the next pair is taken from a queue; below, a plain scan for it is faster. */
const longWord = 48;
/** More symbols than a word can have; a rank times this is still an exact double. */
const positionSpan = 2 ** 30;

/** The table of `merges`, which stand in the order of their rank; of equal pairs the last one counts. */
export function pairTable(merges: readonly Merge[]): PairTable {
  let size = 64;
  while (size < merges.length * 2) size *= 2;
  const places = new Int32Array(new SharedArrayBuffer(size * 3 * Int32Array.BYTES_PER_ELEMENT)).fill(-1);
  const joined = new Int32Array(new SharedArrayBuffer(merges.length * Int32Array.BYTES_PER_ELEMENT));
  for (const [rank, [left, right, whole]] of merges.entries()) {
    let place = placeOf(left, right, size);
    while (places[place] !== -1 && (places[place] !== left || places[place + 1] !== right)) {
      place = place + 3 === size * 3 ? 0 : place + 3;
    }
    places[place] = left;
    places[place + 1] = right;
    places[place + 2] = rank;
    joined[rank] = whole;
  }
  return { places, joined };
}

/** Where the search for a pair begins. `size`, the number of places, is a power of two. */
function placeOf(left: number, right: number, size: number): number {
  const mixed = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
  return ((mixed ^ (mixed >>> 15)) & (size - 1)) * 3;
}

/**
 * Byte-pair merging: the function joins neighbours among the first `count` numbers of `symbols`, in place, always the
 * pair of the lowest rank, and the leftmost of equal ones, until no pair is left; it returns how many are left.
 */
export function pairMerger({ places, joined }: PairTable): (symbols: Int32Array, count: number) => number {
  const size = places.length / 3;
  const rankOf = (left: number, right: number): number => {
    let place = placeOf(left, right, size);
    for (;;) {
      const found = places[place] as number;
      if (found === -1) return none;
      if (found === left && places[place + 1] === right) return places[place + 2] as number;
      place = place + 3 === places.length ? 0 : place + 3;
    }
  };
  const ranks = new Int32Array(longWord);

  const mergeShort = (symbols: Int32Array, count: number): number => {
    let length = count;
    for (let i = 0; i + 1 < length; i++) ranks[i] = rankOf(symbols[i] as number, symbols[i + 1] as number);
    for (;;) {
      let best = none;
      let at = -1;
      for (let i = 0; i + 1 < length; i++) {
        const rank = ranks[i] as number;
        if (rank < best) {
          best = rank;
          at = i;
        }
      }
      if (at === -1) return length;
      symbols[at] = joined[best] as number;
      length--;
      for (let i = at + 1; i < length; i++) {
        symbols[i] = symbols[i + 1] as number;
        ranks[i] = ranks[i + 1] as number;
      }
      if (at + 1 < length) ranks[at] = rankOf(symbols[at] as number, symbols[at + 1] as number);
      if (at > 0) ranks[at - 1] = rankOf(symbols[at - 1] as number, symbols[at] as number);
    }
  };

  return (symbols, count) =>
    count < longWord ? mergeShort(symbols, count) : mergeLong(symbols, count, rankOf, joined);
}

/** The same with a queue of pairs, for words in which a scan for each of them would take the square of the length. */
function mergeLong(
  symbols: Int32Array,
  count: number,
  rankOf: (left: number, right: number) => number,
  joined: Int32Array,
): number {
  const before = Int32Array.from({ length: count }, (_, i) => i - 1);
  const after = Int32Array.from({ length: count }, (_, i) => i + 1);
  /** The rank of the pair that begins at each place now; entries of the queue that say otherwise are out of date. */
  const ranks = new Int32Array(count).fill(none);
  const queue = minQueue(count);
  const watch = (i: number): void => {
    const next = after[i] as number;
    const rank = next < count ? rankOf(symbols[i] as number, symbols[next] as number) : none;
    ranks[i] = rank;
    if (rank !== none) queue.push(rank * positionSpan + i);
  };
  for (let i = 0; i < count; i++) watch(i);

  for (;;) {
    const first = queue.pop();
    if (first === -1) break;
    const rank = Math.floor(first / positionSpan);
    const at = first - rank * positionSpan;
    if (ranks[at] !== rank) continue;
    const gone = after[at] as number;
    const next = after[gone] as number;
    symbols[at] = joined[rank] as number;
    ranks[gone] = none;
    after[at] = next;
    if (next < count) before[next] = at;
    watch(at);
    const previous = before[at] as number;
    if (previous >= 0) watch(previous);
  }

  let length = 0;
  for (let i = 0; i < count; i = after[i] as number) symbols[length++] = symbols[i] as number;
  return length;
}

/** A heap of numbers from 0 up; `pop` gives the least, or -1 when there is none. */
function minQueue(capacity: number): { push(value: number): void; pop(): number } {
  // Each merge brings at most two new pairs, and there are fewer merges than symbols.
  const heap = new Float64Array(capacity * 3);
  let length = 0;
  return {
    push(value) {
      let at = length++;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if ((heap[parent] as number) <= value) break;
        heap[at] = heap[parent] as number;
        at = parent;
      }
      heap[at] = value;
    },
    pop() {
      if (length === 0) return -1;
      const least = heap[0] as number;
      const last = heap[--length] as number;
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= length) break;
        if (child + 1 < length && (heap[child + 1] as number) < (heap[child] as number)) child++;
        if ((heap[child] as number) >= last) break;
        heap[at] = heap[child] as number;
        at = child;
      }
      heap[at] = last;
      return least;
    },
  };
}

/** The same for words as text, whose symbols are characters: each pair of `merges` becomes its two parts in one. */
export function wordMerger(merges: readonly (readonly [string, string])[]): (word: string) => string[] {
  const numbers = new Map<string, number>();
  const names: string[] = [];
  const numberOf = (name: string): number => {
    let number = numbers.get(name);
    if (number === undefined) {
      number = names.push(name) - 1;
      numbers.set(name, number);
    }
    return number;
  };
  const merge = pairMerger(pairTable(merges.map(([l, r]) => [numberOf(l), numberOf(r), numberOf(l + r)])));
  return (word) => {
    const symbols = Int32Array.from(Array.from(word, numberOf));
    return Array.from(symbols.subarray(0, merge(symbols, symbols.length)), (number) => names[number] as string);
  };
}
