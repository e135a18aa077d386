import type { Requests } from './scheduler/scheduler.ts';

/** Speculative decoding: so many tokens are drafted a step, each accepted with this probability while all before it were. */
export interface Drafts {
  readonly tokens: number;
  /** In [0, 1). */
  readonly acceptance: number;
}

/** Mean number of tokens that a step brings: accepted drafts and the one that the model adds (Leviathan et al. 2023, eq. 1). */
export const tokensPerStep = ({ tokens, acceptance }: Drafts): number =>
  (1 - acceptance ** (tokens + 1)) / (1 - acceptance);

type Counting = Pick<Requests, 'stepsFor' | 'tokensIn'> & {
  /** Tokens of one step, the `step`th since the request began to decode. */
  tokensAt(id: number, step: number): number;
};

/** One token a step. */
export const withoutDrafts: Counting = {
  stepsFor: (_, tokens) => tokens,
  tokensIn: (_, steps) => steps,
  tokensAt: () => 1,
};

/** Draws depend on seed, request and step alone, so that the order in which they are asked for does not matter. */
export function withDrafts({ tokens: drafted, acceptance }: Drafts, seed: number): Counting {
  const tokensAt = (id: number, step: number): number => {
    let u = uniform(seed, id, step);
    let accepted = 0;
    // One uniform draw serves for all: what is left of it after a success is uniform again.
    while (accepted < drafted && u < acceptance) {
      u /= acceptance;
      accepted++;
    }
    return accepted + 1;
  };
  const tokensIn = (id: number, steps: number): number => {
    let sum = 0;
    for (let step = 0; step < steps; step++) sum += tokensAt(id, step);
    return sum;
  };
  return {
    tokensAt,
    tokensIn,
    stepsFor(id, tokens) {
      let steps = 0;
      for (let sum = 0; sum < tokens; steps++) sum += tokensAt(id, steps);
      return steps;
    },
  };
}

/** Uniform in [0, 1): the three numbers mixed by the finalizer of MurmurHash3. */
function uniform(seed: number, id: number, step: number): number {
  let h = seed | 0;
  for (const part of [id, step]) {
    h = mixed(h ^ Math.imul(part + 1, 0x9e3779b1));
  }
  return (h >>> 0) / 2 ** 32;
}

function mixed(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
