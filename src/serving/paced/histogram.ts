/** A sample of durations in microseconds; null where it is empty. */
export interface DurationsUs {
  readonly count: number;
  readonly mean: number | null;
  /** Nearest rank. Exact below 4096 us, above that the middle of a bucket that is 0.05 % wide. */
  readonly p50: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

export interface Histogram {
  /** Adds one duration; below 0 counts as 0. Allocates nothing. */
  add(us: number): void;
  read(): DurationsUs;
  clear(): void;
}

/** Buckets of each doubling: 2 to the power of this. */
const octaveBits = 11;
const exactBelow = 2 ** (octaveBits + 1);
const largestUs = 2 ** 31 - 1;
const buckets = bucketOf(largestUs) + 1;

/** Log-linear buckets in one block of memory (170 KB), so that adding to it costs a few nanoseconds at any size. */
export function newHistogram(): Histogram {
  const counts = new Uint32Array(buckets);
  let count = 0;
  let sumUs = 0;
  let maxUs = 0;

  const rank = (share: number): number => {
    let left = Math.max(1, Math.ceil(share * count));
    for (let i = 0; i < buckets; i++) {
      left -= counts[i] as number;
      if (left <= 0) return Math.min(middleOf(i), maxUs);
    }
    return maxUs;
  };

  return {
    add(us) {
      const value = us > 0 ? Math.min(us, largestUs) : 0;
      const bucket = bucketOf(Math.round(value));
      counts[bucket] = (counts[bucket] as number) + 1;
      count++;
      sumUs += value;
      if (value > maxUs) maxUs = value;
    },
    read() {
      if (count === 0) return { count, mean: null, p50: null, p99: null, max: null };
      return { count, mean: sumUs / count, p50: rank(0.5), p99: rank(0.99), max: maxUs };
    },
    clear() {
      counts.fill(0);
      count = 0;
      sumUs = 0;
      maxUs = 0;
    },
  };
}

function bucketOf(us: number): number {
  if (us < exactBelow) return us;
  const shift = 31 - Math.clz32(us) - octaveBits;
  return (shift << octaveBits) + (us >>> shift);
}

function middleOf(bucket: number): number {
  if (bucket < exactBelow) return bucket;
  const shift = (bucket >>> octaveBits) - 1;
  const lowest = (bucket - (shift << octaveBits)) * 2 ** shift;
  return lowest + (2 ** shift - 1) / 2;
}
