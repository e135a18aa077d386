import { usualMemoryFraction } from './ceiling.ts';
import { type CompleteShape, kvBytesOfSequence, kvBytesPerToken, weightBytesOf } from './model.ts';
import { type KvDtype, type PrecisionName, precisions } from './precision.ts';

/**
 * What an engine's memory fraction is a fraction of.
 * - `total`: of all memory, for weights, activations, graphs and KV cache together (vLLM from 0.21 on).
 * - `static`: of the memory that is free before the weights, for weights and KV cache; the rest is for activations and
 *   graphs (SGLang).
 * - `free`: of what weights, activations and graphs leave (TensorRT-LLM).
 */
export type MemoryRule = 'total' | 'static' | 'free';

export interface FitInput {
  readonly shape: CompleteShape;
  readonly hardware: { readonly memoryBytes: number };
  readonly precision: PrecisionName;
  readonly kvDtype?: KvDtype | undefined;
  readonly memoryRule?: MemoryRule | undefined;
  readonly memoryFraction?: number | undefined;
  /** Longest prompt and answer together; without it, the model's own. */
  readonly maxModelLen?: number | undefined;
  /** Most tokens in one step. */
  readonly maxBatchedTokens?: number | undefined;
  readonly maxRunningRequests?: number | undefined;
  readonly tensorParallel?: number | undefined;
  readonly pipelineParallel?: number | undefined;
  /** Without CUDA graphs. */
  readonly enforceEager?: boolean | undefined;
}

/** How the memory of one GPU, the fullest of the group, is divided; bytes. */
export interface FitParts {
  readonly weights: number;
  readonly activations: number;
  readonly cudaGraphs: number;
  /** CUDA's context and the libraries' own buffers, communication among them. */
  readonly runtime: number;
  /** What is left for keys and values; negative where nothing is. */
  readonly kvCache: number;
}

export interface Fit {
  readonly parts: FitParts;
  /** Tokens that the KV cache holds, each within every window; 0 where there is no room. */
  readonly kvCapacityTokens: number;
  /**
   * The longest sequence that the KV cache holds, whatever the model was made for; an engine that insists on room for one
   * starts up to it. Infinite where every layer has a window.
   */
  readonly largestContextTokens: number;
  /** Sequences of `maxModelLen` tokens that run at once. */
  readonly fullSequences: number;
  readonly starts: boolean;
  /** Why it does not start; null where it does. */
  readonly reason: string | null;
}

const gib = 2 ** 30;
/** Memory that a process holds once CUDA is up, read off an H200: 139.80 GiB in total, 139.13 free. */
const contextBytes = 0.67 * gib;
/** NCCL's and custom all-reduce's buffers. An estimate: vLLM and SGLang differ, and so do topologies. */
const communicationBytes = 0.5 * gib;
/**
 * CUDA graphs, read off vLLM 0.25.1 on an H200 with its default sizes: 0.90 GiB with 40 layers, 0.29 with 4. A graph grows
 * with the kernels in it, and so with the layers.
 */
const graphBytes = 0.222 * gib;
const graphBytesPerLayer = 0.017 * gib;
/** KV caches come in blocks of tokens. */
const blockTokens = 16;

/**
 * Divides the memory of a GPU, and says what fits. Weights follow from the shape and the precision, the KV cache from its
 * dtype. Activations are the largest of a step: of an MLP the widened and the narrowed product, and of the logits of all
 * sequences a 16-bit and a 32-bit copy. All of it is an estimate for what is not weights or KV cache.
 */
export function fitOf(input: FitInput): Fit {
  const { shape, hardware, kvDtype = 'bf16', memoryRule = 'total', tensorParallel = 1, pipelineParallel = 1 } = input;
  const { memoryFraction = memoryRule === 'total' ? usualMemoryFraction : 0.9, maxModelLen = shape.maxPositions } =
    input;
  const weights = weightsOfFullest(input);
  const activations = activationBytes(input);
  const layers = Math.ceil(shape.layers / pipelineParallel);
  const cudaGraphs = input.enforceEager === true ? 0 : graphBytes + graphBytesPerLayer * layers;
  const runtime = contextBytes + (tensorParallel * pipelineParallel > 1 ? communicationBytes : 0);
  const free = hardware.memoryBytes - runtime;
  const kvCache = {
    total: memoryFraction * hardware.memoryBytes - (runtime - contextBytes) - weights - activations - cudaGraphs,
    static: memoryFraction * free - weights,
    free: memoryFraction * (free - weights - activations - cudaGraphs),
  }[memoryRule];
  const parts = { weights, activations, cudaGraphs, runtime, kvCache };

  // A stage of a pipeline keeps the keys and values of its own layers.
  const room = (Math.max(0, kvCache) * shape.layers) / layers;
  const largestContextTokens = longestWithin(input, room);
  const fullSequences = Math.floor(room / kvBytesOfSequence(shape, kvDtype, maxModelLen, tensorParallel));
  const reason = reasonNotToStart(input, parts, memoryFraction, { largestContextTokens, maxModelLen });
  return {
    parts,
    kvCapacityTokens: blocks(room / kvBytesPerToken(shape, kvDtype, tensorParallel)),
    largestContextTokens,
    fullSequences: Math.min(fullSequences, input.maxRunningRequests ?? Number.POSITIVE_INFINITY),
    starts: reason === null,
    reason,
  };
}

/** How many sequences of a length the KV cache holds at once, within `maxRunningRequests`. */
export function sequencesThatFit(input: FitInput, tokens: number): number {
  const { fullSequences } = fitOf({ ...input, maxModelLen: tokens });
  return fullSequences;
}

function weightsOfFullest({ shape, precision, tensorParallel = 1, pipelineParallel = 1 }: FitInput): number {
  const bytes = weightBytesOf(shape, precisions[precision]);
  if (pipelineParallel === 1) return bytes.total / tensorParallel;
  const stage = (bytes.layers / shape.layers) * Math.ceil(shape.layers / pipelineParallel);
  return (stage + Math.max(bytes.embedding, bytes.head)) / tensorParallel;
}

function activationBytes({
  shape,
  maxBatchedTokens = 8192,
  maxRunningRequests = 256,
  tensorParallel = 1,
}: FitInput): number {
  const { mixture, hiddenSize, gatedMlp, vocabularySize } = shape;
  const products = gatedMlp ? 3 : 2;
  const dense = products * shape.intermediateSize;
  const sparse =
    mixture === undefined
      ? 0
      : mixture.expertsPerToken * ((products * mixture.expertIntermediateSize) / tensorParallel + hiddenSize);
  const mlp = 2 * maxBatchedTokens * Math.max(dense / tensorParallel, sparse);
  const logits = (2 + 4) * Math.min(maxRunningRequests, maxBatchedTokens) * vocabularySize;
  return Math.max(mlp, logits);
}

/** The longest sequence, in whole blocks, within so many bytes. */
function longestWithin({ shape, kvDtype = 'bf16', tensorParallel = 1 }: FitInput, bytes: number): number {
  const needs = (tokens: number): number => kvBytesOfSequence(shape, kvDtype, tokens, tensorParallel);
  const { slidingWindow: window } = shape;
  if (window === undefined || needs(window.tokens) >= bytes) return blocks(bytes / needs(1));
  // Beyond the window every further token costs the same again, less than one before.
  const more = needs(window.tokens + 1) - needs(window.tokens);
  return more === 0 ? Number.POSITIVE_INFINITY : blocks(window.tokens + (bytes - needs(window.tokens)) / more);
}

const blocks = (tokens: number): number => Math.floor(tokens / blockTokens) * blockTokens;
const inGib = (bytes: number): string => `${(bytes / gib).toFixed(1)} GiB`;

function reasonNotToStart(
  { hardware, memoryRule = 'total' }: FitInput,
  { weights, activations, cudaGraphs, runtime, kvCache }: FitParts,
  fraction: number,
  {
    largestContextTokens: largest,
    maxModelLen,
  }: { readonly largestContextTokens: number; readonly maxModelLen: number },
): string | null {
  const { memoryBytes } = hardware;
  if (memoryRule === 'total' && fraction * memoryBytes > memoryBytes - contextBytes) {
    return `a share of ${fraction} is ${inGib(fraction * memoryBytes)}, but only ${inGib(memoryBytes - contextBytes)} are free`;
  }
  if (kvCache < 0 || largest === 0) {
    return `weights of ${inGib(weights)} leave no room for a KV cache in ${inGib(fraction * memoryBytes)}`;
  }
  const rest = memoryBytes - runtime - weights - kvCache;
  if (memoryRule === 'static' && rest < activations + cudaGraphs) {
    return `weights and KV cache leave ${inGib(rest)}, activations and CUDA graphs need ${inGib(activations + cudaGraphs)}`;
  }
  if (memoryRule === 'total' && largest < maxModelLen) {
    return `the KV cache holds one sequence of ${largest} tokens, fewer than the ${maxModelLen} that are asked for`;
  }
  return null;
}
