import type { SimulatedEngine } from '../engine.ts';
import type { PrefixCache } from './prefix-cache.ts';

/** What a simulated engine has counted since it started, over all copies of the model. */
export interface Tallies {
  steps: number;
  /** Prompt tokens that were looked for in the prefix cache, and those that were found. */
  prefixQueries: number;
  prefixHits: number;
  /** Passes of a request that verified drafts, tokens drafted and accepted in them. */
  drafts: number;
  draftedTokens: number;
  acceptedTokens: number;
}

export const newTallies = (): Tallies => ({
  steps: 0,
  prefixQueries: 0,
  prefixHits: 0,
  drafts: 0,
  draftedTokens: 0,
  acceptedTokens: 0,
});

/** One copy of the model, as the metrics look at it. */
export interface Copy {
  readonly engine: SimulatedEngine;
  /** Null where prefix caching is off. */
  readonly cache: PrefixCache | null;
}

/** What a simulated engine is doing now, for its metrics. */
export interface EngineState extends Readonly<Tallies> {
  readonly running: number;
  readonly waiting: number;
  /** Tokens in the KV cache that running requests use, and all that fit, over all copies. */
  readonly kvTokensUsed: number;
  readonly kvTokens: number;
  readonly preemptions: number;
  /** Simulated seconds by which it is behind its clock. */
  readonly behindS: number;
}

export function stateOf(
  copies: readonly Copy[],
  tallies: Tallies,
  { kvTokens, behindS }: { readonly kvTokens: number; readonly behindS: number },
): EngineState {
  const sum = (of: (scheduler: SimulatedEngine['scheduler']) => number): number =>
    copies.reduce((total, { engine }) => total + of(engine.scheduler), 0);
  return {
    ...tallies,
    running: sum(({ running }) => running),
    waiting: sum(({ waiting }) => waiting),
    kvTokensUsed: sum(({ kvTokensUsed }) => Math.max(0, kvTokensUsed)),
    kvTokens: kvTokens * copies.length,
    preemptions: sum(({ preemptions }) => preemptions),
    behindS,
  };
}
