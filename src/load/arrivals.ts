/**
 * When each of `count` requests is due, seconds after the start of the load, in ascending order. The schedule is
 * absolute: a request that goes out late does not move the next one.
 *
 * An infinite rate makes all due at 0. A finite one draws exponential gaps (a Poisson process), one before each request,
 * and stretches them so that the last request is due at count / rate exactly: `vllm bench serve` does the same, so that
 * every run offers the rate that was asked for. `random` gives numbers in [0, 1).
 */
export function arrivalTimes(count: number, requestRate: number, random: () => number): Float64Array {
  const times = new Float64Array(count);
  if (!Number.isFinite(requestRate)) return times;
  let sum = 0;
  for (let i = 0; i < count; i++) {
    sum -= Math.log(1 - random());
    times[i] = sum;
  }
  if (sum > 0) {
    const scale = count / requestRate / sum;
    for (let i = 0; i < count; i++) times[i] = (times[i] as number) * scale;
  }
  return times;
}

/** Numbers in [0, 1) by a 32-bit multiply-and-xorshift generator ("mulberry32"): the same seed, the same numbers. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
