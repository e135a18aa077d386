import { type Hardware, matrixFlopPerS } from './gpus.ts';
import { attentionWork, type CompleteShape, kvBytesPerToken, parametersOf, weightBytesOf } from './model.ts';
import { type KvDtype, type PrecisionName, precisions } from './precision.ts';

/** Requests of one size. */
export interface Requests {
  /** Prompt tokens to be computed: what a prefix cache holds is left out. */
  readonly input: number;
  readonly output: number;
  /** How many; without it, one. */
  readonly count?: number;
}

/** A model on a hardware. */
export interface Deployment {
  readonly shape: CompleteShape;
  readonly hardware: Hardware;
  readonly precision: PrecisionName;
  /** Without it, bf16. */
  readonly kvDtype?: KvDtype | undefined;
  /** GPUs that share one copy of the model; without it, one. */
  readonly tensorParallel?: number | undefined;
  /** Share of memory for weights and KV cache; without it, 0.92. */
  readonly memoryFraction?: number | undefined;
}

export interface CeilingInput extends Deployment {
  readonly requests: readonly Requests[];
  /** Most requests at once; without it, as many as the KV cache holds. */
  readonly maxConcurrency?: number | undefined;
}

/** The most that a workload can do on a hardware, with the parts that say why. */
export interface Ceiling {
  /** Input and output tokens a second, of one copy of the model. */
  readonly totalTokensPerS: number;
  /** Arithmetic, reading of memory, or reading of memory as often as a small KV cache makes necessary. */
  readonly bound: 'compute' | 'memory' | 'capacity';
  readonly computeS: number;
  readonly memoryS: number;
  /** Passes over the weights. */
  readonly steps: number;
  readonly tokens: number;
  readonly flop: number;
  /** Room for tokens beside the weights, over the whole group of GPUs; 0 where the weights leave none. */
  readonly kvCapacityTokens: number;
}

/** vLLM's newer default of the share of memory for weights and KV cache. */
export const usualMemoryFraction = 0.92;

/**
 * The physical ceiling of a workload: all requests are there at once, batches are perfect, arithmetic and reading overlap
 * completely, and nothing but matrices, attention, weights, keys and values takes time; GPUs of a group talk for free.
 *
 * - compute: `2 * P_layers` FLOP for each token that passes the layers (all but the last of an answer), at the rate of the
 *   weights' format; `2 * P_head` for each token of an answer, in bf16; attention over `input² / 2 + Σ contexts` pairs in
 *   bf16, or in FP8 with an FP8 cache.
 * - memory: in each step the layers' and the head's weights, and over all steps the keys and values that decode reads and
 *   that are written.
 * - steps: as many as the longest answer has tokens, and at least as many as needed for the contexts of all tokens of
 *   answers to be in the cache at their turn.
 *
 * Of a mixture of experts a step reads those that its tokens can be expected to take with even routing.
 */
export function ceilingOf(input: CeilingInput): Ceiling {
  const { shape, hardware, kvDtype = 'bf16', tensorParallel = 1, maxConcurrency = Number.POSITIVE_INFINITY } = input;
  const totals = totalsOf(input);
  const { head, activeLayers } = parametersOf(shape);
  const precision = precisions[input.precision];
  const { nominal } = hardware;
  const bf16 = nominal.matrixFlopPerS.bf16 ?? 0;
  const attentionRate = kvDtype === 'fp8' ? (nominal.matrixFlopPerS.fp8 ?? bf16) : bf16;

  const linearFlop = 2 * activeLayers * totals.passed;
  const headFlop = 2 * head * totals.output;
  const computeS =
    (linearFlop / matrixFlopPerS(nominal, precision) + headFlop / bf16 + totals.attentionFlop / attentionRate) /
    tensorParallel;

  const room = kvRoomBytes(input);
  const fewest = Math.max(totals.longest, totals.decodeTokens / maxConcurrency);
  const steps = Math.max(fewest, room > 0 ? 1 + totals.kvReadBytes / room : Number.POSITIVE_INFINITY);
  const memoryAt = (passes: number): number => {
    const weights = passes * stepWeightBytes(input, totals.passed / passes);
    return (weights / tensorParallel + totals.kvReadBytes + totals.kvWriteBytes) / nominal.memoryBytesPerS;
  };
  const memoryS = Number.isFinite(steps) ? memoryAt(steps) : Number.POSITIVE_INFINITY;
  const tokens = totals.input + totals.output;
  return {
    totalTokensPerS: tokens / Math.max(computeS, memoryS),
    bound: computeS >= memoryS ? 'compute' : steps > fewest ? 'capacity' : 'memory',
    computeS,
    memoryS,
    steps,
    tokens,
    flop: linearFlop + headFlop + totals.attentionFlop,
    kvCapacityTokens: Math.max(0, room) / kvBytesPerToken(shape, kvDtype, tensorParallel),
  };
}

/** Bytes for keys and values on each GPU beside its share of the weights; negative where they do not fit. */
function kvRoomBytes({
  shape,
  hardware,
  precision,
  tensorParallel = 1,
  memoryFraction = usualMemoryFraction,
}: Deployment): number {
  // biome-ignore format: one signature
  return memoryFraction * hardware.memoryBytes - weightBytesOf(shape, precisions[precision]).total / tensorParallel;
}

function totalsOf({ requests, shape, kvDtype = 'bf16', tensorParallel = 1 }: CeilingInput) {
  const sum = { input: 0, output: 0, passed: 0, decodeTokens: 0, attentionFlop: 0, kvReadBytes: 0, kvWriteBytes: 0, longest: 0 }; // biome-ignore format: one row of sums
  for (const { input, output, count = 1 } of requests) {
    const work = attentionWork(shape, kvDtype, { input, output }, tensorParallel);
    sum.input += count * input;
    sum.output += count * output;
    sum.passed += count * (input + Math.max(0, output - 1));
    sum.decodeTokens += count * output;
    sum.attentionFlop += count * (work.prefillFlop + work.decodeFlop);
    sum.kvReadBytes += count * work.kvReadBytes;
    sum.kvWriteBytes += count * work.kvWriteBytes;
    sum.longest = Math.max(sum.longest, output);
  }
  return sum;
}

/** Bytes of weights that a step over so many tokens reads, on all GPUs of the group together. */
function stepWeightBytes({ shape, precision }: Deployment, tokens: number): number {
  const { layers, activeLayers, head } = weightBytesOf(shape, precisions[precision]);
  const { experts, mixture } = shape;
  if (mixture === undefined || experts <= mixture.expertsPerToken) return layers + head;
  const share = mixture.expertsPerToken / experts;
  const all = (layers - activeLayers) / (1 - share);
  return layers - all + all * (1 - (1 - share) ** Math.max(1, tokens)) + head;
}

/** Times under which nothing can be measured, seconds. */
export interface Floors {
  /** Between two tokens of one stream: a step reads all weights that a token takes. */
  readonly tokenS: number;
  /** From request to first token: the prompt's arithmetic, or reading the weights once. Null without a prompt's length. */
  readonly firstTokenS: number | null;
}

/**
 * The least time between two tokens of one stream, and to the first token of a prompt of `inputTokens`. With speculative
 * decoding a step may yield `tokensPerStep` tokens.
 */
export function floorsOf(
  deployment: Deployment,
  {
    inputTokens = null,
    tokensPerStep = 1,
  }: { readonly inputTokens?: number | null; readonly tokensPerStep?: number } = {},
): Floors {
  const { shape, hardware, tensorParallel = 1 } = deployment;
  const { activeLayers, head } = weightBytesOf(shape, precisions[deployment.precision]);
  const readS = (activeLayers + head) / (hardware.nominal.memoryBytesPerS * tensorParallel);
  if (inputTokens === null) return { tokenS: readS / tokensPerStep, firstTokenS: null };
  const { computeS } = ceilingOf({ ...deployment, requests: [{ input: inputTokens, output: 1 }] });
  return { tokenS: readS / tokensPerStep, firstTokenS: Math.max(readS, computeS) };
}

/** What was measured; null or absent is not judged. */
export interface MeasuredSpeed {
  /** Input and output tokens a second of one copy of the model, cached prompt tokens left out. */
  readonly totalTokensPerS?: number | null | undefined;
  /** Mean time per output token of a stream, seconds. */
  readonly meanTpotS?: number | null | undefined;
}

export interface PhysicsProblem {
  readonly rule: 'above-ceiling' | 'below-floor';
  readonly message: string;
}

/**
 * Why physics forbids a measurement: its throughput is above the ceiling of its workload, or its streams are faster than
 * the weights can be read. Then the clock, the count of tokens or the description of the hardware is wrong. Without a
 * ceiling or a floor nothing is said, nor with a ceiling of 0: weights that do not fit did not run from this memory.
 */
export function physicsProblems(
  { totalTokensPerS, meanTpotS }: MeasuredSpeed,
  ceiling: Pick<Ceiling, 'totalTokensPerS' | 'bound'> | null,
  floors: Pick<Floors, 'tokenS'> | null,
): readonly PhysicsProblem[] {
  const problems: PhysicsProblem[] = [];
  if (
    totalTokensPerS != null &&
    ceiling !== null &&
    ceiling.totalTokensPerS > 0 &&
    totalTokensPerS > ceiling.totalTokensPerS
  ) {
    const most = ceiling.totalTokensPerS.toFixed(0);
    problems.push({
      rule: 'above-ceiling',
      message: `${totalTokensPerS.toFixed(0)} tok/s are more than the ${most} tok/s that this hardware can do at most (${ceiling.bound} bound).`,
    });
  }
  if (meanTpotS != null && floors !== null && meanTpotS > 0 && meanTpotS < floors.tokenS) {
    const [measured, least] = [meanTpotS, floors.tokenS].map((s) => (s * 1000).toFixed(2));
    problems.push({
      rule: 'below-floor',
      message: `A mean TPOT of ${measured} ms is less than the ${least} ms that reading the weights once takes.`,
    });
  }
  return problems;
}
