import type { Decoding } from '../decoding.ts';
import type { StepWork } from '../machine.ts';

/** What a scheduler knows of the requests that it is given. */
export interface Requests {
  promptTokens(id: number): number;
  /** At least 1. */
  outputTokens(id: number): number;
  /** Of the prompt, tokens whose keys and values need not be computed; asked when the request is let in. */
  cachedTokens(id: number): number;
  /** Decode steps that `tokens` take; as many where no drafts are verified. */
  stepsFor(id: number, tokens: number): number;
  /** The reverse: tokens that the first so many of these steps bring. */
  tokensIn(id: number, steps: number): number;
  /** Told when a request is done with decoding, for good or for now: it got a token in each of `steps` steps, `from` on. */
  decoded(id: number, from: number, steps: number): void;
}

export interface SchedulerOptions {
  /** Tokens that fit in the KV cache. */
  readonly kvTokens: number;
  readonly blockTokens: number;
  readonly maxBatchedTokens: number;
  readonly maxRunningRequests: number;
  /** A prompt may be spread over several steps. */
  readonly chunkedPrefill: boolean;
  /** Prompts and decoding share a step: a choice in SGLang only. */
  readonly mixedChunk: boolean;
  /** SGLang's: how much of what is still to be answered is kept free. */
  readonly scheduleConservativeness: number;
  /** Tokens that a decode step puts through the model for each request: 1, and the drafts. */
  readonly verifiedTokens: number;
  /** Mean number of tokens that a decode step brings. */
  readonly tokensPerStep: number;
}

/** What a step brought. */
export interface StepEnd {
  /** Requests whose prompt was computed to its end: each has one token more. */
  readonly promptEnds: readonly number[];
  /** Requests that are complete. */
  readonly finished: readonly number[];
}

/**
 * Decides, step by step, which requests are computed. `plan` and `end` take turns: what was planned has been computed
 * when `end` is called.
 */
export interface Scheduler {
  /** A request that the front end is through with. */
  add(id: number): void;
  /** The next step; null when there is nothing to do. */
  plan(): StepWork | null;
  end(): StepEnd;
  /** Forgets a request whose client is gone. */
  cancel(id: number): void;
  readonly decoding: Decoding;
  readonly waiting: number;
  readonly running: number;
  readonly kvTokensUsed: number;
  /** Requests that lost their place in the KV cache so far. */
  readonly preemptions: number;
}

/** A prompt that is being computed, over one step or several. */
export interface Prefill {
  readonly id: number;
  /** Tokens to be computed in all: of one that lost its place, its answer so far, too. */
  readonly tokens: number;
  computed: number;
  /** Of them in the step that is under way. */
  chunk: number;
}

/** Adds a chunk of a prompt to a step: its tokens, and the pairs of query and key in it and with what came before it. */
export function addChunk(step: StepWork, prefill: Prefill, chunk: number): void {
  prefill.chunk = chunk;
  step.prompts++;
  step.prefillTokens += chunk;
  step.pairs += chunk * prefill.computed + (chunk * (chunk + 1)) / 2;
  if (prefill.computed + chunk === prefill.tokens) step.promptEnds++;
}

/**
 * Counts the chunks of the step that is over as computed. Calls back for each prompt that is through, in their order;
 * returns the others.
 */
export function computeChunks(prefills: readonly Prefill[], through: (prefill: Prefill) => void): Prefill[] {
  const still: Prefill[] = [];
  for (const prefill of prefills) {
    prefill.computed += prefill.chunk;
    prefill.chunk = 0;
    if (prefill.computed < prefill.tokens) still.push(prefill);
    else through(prefill);
  }
  return still;
}

export const blocksFor = (tokens: number, blockTokens: number): number => Math.ceil(tokens / blockTokens);

/** How one engine does it. */
export interface SchedulerKind {
  readonly name: string;
  create(requests: Requests, options: SchedulerOptions): Scheduler;
}
