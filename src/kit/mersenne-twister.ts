/** The 32-bit Mersenne Twister (MT19937) of Python's `random` and of numpy's legacy generator. */
export interface MersenneTwister {
  /** The next 32 bits, unsigned. */
  next32(): number;
  /** A double in [0, 1) of 53 random bits. */
  random(): number;
}

const size = 624;
const shift = 397;

function twister(state: Uint32Array): MersenneTwister {
  let at = size;
  const next32 = (): number => {
    if (at === size) {
      for (let i = 0; i < size; i++) {
        const bits = ((state[i] as number) & 0x80000000) | ((state[(i + 1) % size] as number) & 0x7fffffff);
        state[i] = (state[(i + shift) % size] as number) ^ (bits >>> 1) ^ (bits & 1 ? 0x9908b0df : 0);
      }
      at = 0;
    }
    let bits = state[at++] as number;
    bits ^= bits >>> 11;
    bits ^= (bits << 7) & 0x9d2c5680;
    bits ^= (bits << 15) & 0xefc60000;
    return (bits ^ (bits >>> 18)) >>> 0;
  };
  return {
    next32,
    random: () => ((next32() >>> 5) * 67108864 + (next32() >>> 6)) / 2 ** 53,
  };
}

/** The state that `init_genrand` of the reference implementation makes of a 32-bit seed. */
function stateOf(seed: number): Uint32Array {
  const state = new Uint32Array(size);
  state[0] = seed;
  for (let i = 1; i < size; i++) {
    const before = state[i - 1] as number;
    state[i] = Math.imul(1812433253, before ^ (before >>> 30)) + i;
  }
  return state;
}

/** The generator after `numpy.random.seed(seed)`; seed from 0 to 2^32 - 1. */
export const numpyTwister = (seed: number): MersenneTwister => twister(stateOf(seed));

/** The generator after Python's `random.seed(seed)`; a whole number from 0 to 2^53 - 1. */
export function pythonTwister(seed: number): MersenneTwister {
  if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError(`${seed} cannot seed the generator`);
  const key = seed < 2 ** 32 ? [seed] : [seed % 2 ** 32, Math.floor(seed / 2 ** 32)];
  const state = stateOf(19650218);
  const mixed = (i: number): number => {
    const before = state[i - 1] as number;
    return before ^ (before >>> 30);
  };
  let i = 1;
  const step = (): void => {
    i++;
    if (i < size) return;
    state[0] = state[size - 1] as number;
    i = 1;
  };
  for (let k = 0; k < size; k++) {
    const j = k % key.length;
    state[i] = ((state[i] as number) ^ Math.imul(mixed(i), 1664525)) + (key[j] as number) + j;
    step();
  }
  for (let k = 1; k < size; k++) {
    state[i] = ((state[i] as number) ^ Math.imul(mixed(i), 1566083941)) - i;
    step();
  }
  state[0] = 0x80000000;
  return twister(state);
}

/** A whole number in [0, n) as Python's `random.randrange(n)` draws it; n from 1 to 2^32 - 1, else a RangeError. */
export function pythonBelow(generator: MersenneTwister, n: number): number {
  if (!Number.isSafeInteger(n) || n < 1 || n >= 2 ** 32) throw new RangeError(`nothing can be drawn below ${n}`);
  const spare = Math.clz32(n);
  for (;;) {
    const drawn = generator.next32() >>> spare;
    if (drawn < n) return drawn;
  }
}

/** Shuffles in place as Python's `random.shuffle` does. */
export function pythonShuffle<T>(generator: MersenneTwister, items: T[]): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = pythonBelow(generator, i + 1);
    [items[i], items[j]] = [items[j] as T, items[i] as T];
  }
}

/**
 * Draws from the gamma distribution of this shape and scale 1, as numpy's legacy `gamma` does: an exponential for shape
 * 1, Ahrens and Dieter's rejection below it, Marsaglia and Tsang's above. Equal to numpy's up to the last place of `log`
 * and `pow`.
 */
export function gammaDraws(generator: MersenneTwister, shape: number): () => number {
  const { random } = generator;
  if (shape === 1) return () => -Math.log(1 - random());
  if (shape < 1) {
    return () => {
      for (;;) {
        const u = random();
        const v = -Math.log(1 - random());
        if (u <= 1 - shape) {
          const x = u ** (1 / shape);
          if (x <= v) return x;
        } else {
          const y = -Math.log((1 - u) / shape);
          const x = (1 - shape + shape * y) ** (1 / shape);
          if (x <= v + y) return x;
        }
      }
    };
  }
  const normal = normalDraws(generator);
  const b = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * b);
  return () => {
    for (;;) {
      let x: number;
      let v: number;
      do {
        x = normal();
        v = 1 + c * x;
      } while (v <= 0);
      v = v * v * v;
      const u = random();
      if (u < 1 - 0.0331 * (x * x) * (x * x)) return b * v;
      if (Math.log(u) < 0.5 * x * x + b * (1 - v + Math.log(v))) return b * v;
    }
  };
}

/** Standard normal draws by the polar method, the second of each pair first, as numpy's legacy generator gives them. */
function normalDraws({ random }: MersenneTwister): () => number {
  let kept: number | undefined;
  return () => {
    if (kept !== undefined) {
      const value = kept;
      kept = undefined;
      return value;
    }
    let p: number;
    let q: number;
    let s: number;
    do {
      p = 2 * random() - 1;
      q = 2 * random() - 1;
      s = p * p + q * q;
    } while (s >= 1 || s === 0);
    const f = Math.sqrt((-2 * Math.log(s)) / s);
    kept = f * p;
    return f * q;
  };
}
