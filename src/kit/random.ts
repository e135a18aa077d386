/**
 * numpy's random generator, bit for bit: `default_rng(seed)` is SeedSequence feeding PCG64 (XSL-RR). The same seed
 * gives the same prompts here and in every Python tool that uses numpy.
 */
export interface Random {
  /** The next raw output, an unsigned 64-bit integer. Leaves a buffered half of `next32` where it is. */
  next64(): bigint;
  /** The next 32 bits: the low half of an output, then its high half. The high half waits over any other call. */
  next32(): number;
  /**
   * `size` integers, uniform in [low, high), as `Generator.integers` draws them for its default type. Draws nothing
   * when there is only one possible value. Throws a RangeError when the range is empty or has over 2^32 values.
   */
  integers(low: number, high: number, size: number): number[];
  /** Uniform in [0, 1), with 53 bits. */
  random(): number;
}

/** The generator of a seed: a non-negative integer, or several that count together (`[seed, trial]`). */
export function createRandom(seed: number | bigint | readonly (number | bigint)[]): Random {
  const [a, b, c, d] = seedState(entropyWords(seed));
  const increment = BigInt.asUintN(128, (((c << 64n) | d) << 1n) | 1n);
  const step = (s: bigint): bigint => BigInt.asUintN(128, s * pcgMultiplier + increment);
  let state = step(BigInt.asUintN(128, increment + ((a << 64n) | b)));
  let buffered: number | undefined;

  const next64 = (): bigint => {
    state = step(state);
    const rotation = state >> 122n;
    const x = BigInt.asUintN(64, (state >> 64n) ^ state);
    return BigInt.asUintN(64, (x >> rotation) | (x << (64n - rotation)));
  };

  const next32 = (): number => {
    if (buffered !== undefined) {
      const half = buffered;
      buffered = undefined;
      return half;
    }
    const whole = next64();
    buffered = Number(whole >> 32n);
    return Number(BigInt.asUintN(32, whole));
  };

  /** Lemire's method: the high word of a product is the value, and low words that would make it uneven are rejected. */
  const below = (count: number): number => {
    let product = multiply32(next32(), count);
    if (product.low < count) {
      const threshold = (2 ** 32 - count) % count;
      while (product.low < threshold) product = multiply32(next32(), count);
    }
    return product.high;
  };

  return {
    next64,
    next32,
    integers(low, high, size) {
      const count = high - low;
      if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || count < 1 || count > 2 ** 32) {
        throw new RangeError(`no integers can be drawn from [${low}, ${high})`);
      }
      if (count === 1) return new Array<number>(size).fill(low);
      const draw = count === 2 ** 32 ? next32 : () => below(count);
      return Array.from({ length: size }, () => low + draw());
    },
    random: () => Number(next64() >> 11n) / 2 ** 53,
  };
}

const pcgMultiplier = 0x2360ed051fc65da44385df649fccf645n;

/** The 64-bit product of two unsigned 32-bit numbers, as its halves. */
function multiply32(x: number, y: number): { high: number; low: number } {
  const upper = x * (y >>> 16);
  const lower = x * (y & 0xffff);
  // upper * 2^16 + lower, kept in pieces that a double holds exactly.
  const middle = (upper % 2 ** 16) * 2 ** 16 + lower;
  return { high: Math.floor(upper / 2 ** 16) + Math.floor(middle / 2 ** 32), low: middle % 2 ** 32 };
}

/** Little-endian 32-bit words of the seed, or of several seeds one after the other. Zero is one word. */
function entropyWords(seed: number | bigint | readonly (number | bigint)[]): number[] {
  if (typeof seed === 'object') return seed.flatMap((one) => entropyWords(one));
  if (typeof seed === 'number' && !Number.isSafeInteger(seed)) throw new RangeError(`${seed} is not a whole number`);
  let rest = BigInt(seed);
  if (rest < 0n) throw new RangeError(`a seed cannot be negative: ${seed}`);
  const words: number[] = [];
  do {
    words.push(Number(BigInt.asUintN(32, rest)));
    rest >>= 32n;
  } while (rest > 0n);
  return words;
}

/** SeedSequence: the words, mixed into a pool of four, give four 64-bit numbers. */
function seedState(words: readonly number[]): [bigint, bigint, bigint, bigint] {
  let constant = 0x43b0d7e5;
  const hash = (value: number): number => {
    const mixed = value ^ constant;
    constant = Math.imul(constant, 0x931e8875);
    const v = Math.imul(mixed, constant);
    return v ^ (v >>> 16);
  };
  const mix = (x: number, y: number): number => {
    const v = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y);
    return v ^ (v >>> 16);
  };

  const pool = new Int32Array(4);
  const stir = (word: number, except = -1): void => {
    for (let i = 0; i < 4; i++) if (i !== except) pool[i] = mix(pool[i] as number, hash(word));
  };
  for (let i = 0; i < 4; i++) pool[i] = hash(words[i] ?? 0);
  for (let source = 0; source < 4; source++) stir(pool[source] as number, source);
  for (const word of words.slice(4)) stir(word);

  let out = 0x8b51f9dd;
  const next = (i: number): bigint => {
    const mixed = (pool[i % 4] as number) ^ out;
    out = Math.imul(out, 0x58f38ded);
    const v = Math.imul(mixed, out);
    return BigInt((v ^ (v >>> 16)) >>> 0);
  };
  const pairs = [0, 2, 4, 6].map((i) => next(i) | (next(i + 1) << 32n));
  return pairs as [bigint, bigint, bigint, bigint];
}
