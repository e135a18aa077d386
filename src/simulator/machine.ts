/** What one forward pass of a model costs in arithmetic and memory traffic, on one GPU of its group. */
export interface ModelWork {
  /** FLOP of the layers' matrices for one token: twice their active parameters. */
  readonly layerFlop: number;
  /** Bytes of the layers' matrices that every pass reads. */
  readonly layerBytes: number;
  /** Routed experts: bytes of all of them in all layers, and how many of how many a token uses; null of a dense model. */
  readonly experts: { readonly bytes: number; readonly each: number; readonly used: number } | null;
  /** FLOP of the LM head for one position that is sampled. */
  readonly headFlop: number;
  readonly headBytes: number;
  /** FLOP of attention for one pair of query and key, over all layers with full attention. */
  readonly pairFlop: number;
  /** Bytes of keys and values of one token, over all layers with full attention. */
  readonly kvBytes: number;
  /** Layers that look back no further than `tokens`; null where there are none. */
  readonly window: { readonly tokens: number; readonly pairFlop: number; readonly kvBytes: number } | null;
  /** Seconds that one GPU waits for the others: per pass, and per token of the pass. 0 for a group of one. */
  readonly groupS: { readonly perPass: number; readonly perToken: number };
}

/** What one GPU reaches, for the number formats of the model that it serves. */
export interface Rates {
  /** Of the layers' matrices, FLOP/s. */
  readonly layerFlopPerS: number;
  /** Of the LM head, which stays in bf16, FLOP/s. */
  readonly headFlopPerS: number;
  /** Reading weights, bytes/s. */
  readonly weightBytesPerS: number;
  /** Attention of a prompt, FLOP/s. */
  readonly prefillFlopPerS: number;
  /** Reading keys and values of running requests, bytes/s. */
  readonly kvBytesPerS: number;
  /** The same in a step that holds prompts, too, where one kernel serves both and is not at its best with either. */
  readonly mixedKvBytesPerS: number;
}

/** What an engine's own program costs, seconds of one CPU core. */
export interface EngineCosts {
  /** Fixed, for each step of the scheduler; nothing runs on the GPU meanwhile. */
  readonly stepS: number;
  /** Of the front end, for each request: chat template, tokenization, response. */
  readonly requestS: number;
  /** Starting the kernels of a pass one by one, where no CUDA graph holds them; overlaps with the GPU's work. */
  readonly launchS: number;
}

/** What one step of the scheduler processes. */
export interface StepWork {
  /** Requests that get a token out of decoding. */
  decodes: number;
  /** Tokens of theirs that go through the model: more than `decodes` where drafts are verified. */
  decodeTokens: number;
  /** Tokens whose keys and values decoding reads. */
  contextTokens: number;
  prefillTokens: number;
  /** Pairs of query and key among and before the prefilled tokens. */
  pairs: number;
  /** Prompts of which a part is in this step. */
  prompts: number;
  /** Prompts that end in this step: their last position is sampled. */
  promptEnds: number;
}

export const emptyStep = (): StepWork => ({
  decodes: 0,
  decodeTokens: 0,
  contextTokens: 0,
  prefillTokens: 0,
  pairs: 0,
  prompts: 0,
  promptEnds: 0,
});

/**
 * Seconds that the GPU needs for a step: layers and LM head are each bound by arithmetic or by reading their weights;
 * attention of prompts by arithmetic, attention of running requests by reading their keys and values.
 */
export function gpuSeconds(step: StepWork, model: ModelWork, rates: Rates): number {
  const tokens = step.decodeTokens + step.prefillTokens;
  const sampled = step.decodeTokens + step.promptEnds;
  const layers = Math.max(
    (model.layerFlop * tokens) / rates.layerFlopPerS,
    (model.layerBytes + expertBytes(model, tokens)) / rates.weightBytesPerS,
  );
  const head = sampled
    ? Math.max((model.headFlop * sampled) / rates.headFlopPerS, model.headBytes / rates.weightBytesPerS)
    : 0;
  const kvBytesPerS = step.prompts > 0 ? rates.mixedKvBytesPerS : rates.kvBytesPerS;
  let attention =
    (step.pairs * model.pairFlop) / rates.prefillFlopPerS + (step.contextTokens * model.kvBytes) / kvBytesPerS;
  if (model.window !== null) attention += windowSeconds(step, model.window, rates.prefillFlopPerS, kvBytesPerS);
  return layers + head + attention + model.groupS.perPass + model.groupS.perToken * tokens;
}

/** Bytes of the experts that at least one of so many tokens uses, each token choosing evenly and by itself. */
function expertBytes({ experts }: ModelWork, tokens: number): number {
  if (experts === null) return 0;
  return experts.bytes * (1 - (1 - experts.used / experts.each) ** tokens);
}

/** By the mean length of the contexts: which of them are shorter than the window is not known here. */
function windowSeconds(
  step: StepWork,
  window: NonNullable<ModelWork['window']>,
  prefillFlopPerS: number,
  kvBytesPerS: number,
): number {
  const context = step.decodes === 0 ? 0 : Math.min(window.tokens, step.contextTokens / step.decodes) * step.decodes;
  const pairs = Math.min(step.pairs, step.prefillTokens * window.tokens);
  return (pairs * window.pairFlop) / prefillFlopPerS + (context * window.kvBytes) / kvBytesPerS;
}
