import type { ModelShape } from '../records/model-shape.ts';
import { type KvDtype, kvDtypes, type Precision } from './precision.ts';

/** A shape that says everything that physics needs. */
export interface CompleteShape extends ModelShape {
  readonly headDim: number;
  readonly intermediateSize: number;
  readonly gatedMlp: boolean;
  readonly vocabularySize: number;
  readonly tiedEmbeddings: boolean;
}

/** The shape with what follows from it filled in; null where its configuration says too little to count parameters. */
export function completeShape(shape: ModelShape): CompleteShape | null {
  const { vocabularySize, mixture, layers } = shape;
  if (vocabularySize === undefined || (shape.experts > 0 && mixture === undefined)) return null;
  const dense = mixture === undefined ? layers : mixture.denseLayers;
  if (dense > 0 && shape.intermediateSize === undefined) return null;
  return {
    ...shape,
    vocabularySize,
    headDim: shape.headDim ?? shape.hiddenSize / shape.attentionHeads,
    intermediateSize: shape.intermediateSize ?? 0,
    gatedMlp: shape.gatedMlp ?? true,
    tiedEmbeddings: shape.tiedEmbeddings ?? false,
  };
}

/** Weights of the matrices; norms and biases are left out, well under 0.1 % of any model. */
export interface Parameters {
  /** Query, key, value and output projections of all layers. */
  readonly attention: number;
  /** MLPs that every token takes: of dense layers and beside experts; and the routers. */
  readonly mlp: number;
  /** All experts of all layers. */
  readonly experts: number;
  /** Of the experts, those that one token takes. */
  readonly activeExperts: number;
  /** All of the layers: attention, MLPs and experts. */
  readonly layers: number;
  /** Of the layers, what one token takes. */
  readonly activeLayers: number;
  /** The matrix that makes logits; with tied embeddings the embedding once more, though it takes no memory. */
  readonly head: number;
  readonly embedding: number;
  /** What a checkpoint holds. */
  readonly total: number;
  /** What one token takes, of the total. */
  readonly active: number;
}

/** Counts the weights that a shape implies. */
export function parametersOf(shape: CompleteShape): Parameters {
  const { layers: count, hiddenSize: hidden, mixture, experts: ofLayer } = shape;
  const matrices = shape.gatedMlp ? 3 : 2;
  const sparse = mixture === undefined ? 0 : count - mixture.denseLayers;
  const attention = count * attentionOfLayer(shape);
  const beside = mixture === undefined ? 0 : matrices * hidden * mixture.sharedIntermediateSize + hidden * ofLayer;
  const mlp = (count - sparse) * matrices * hidden * shape.intermediateSize + sparse * beside;
  const expert = mixture === undefined ? 0 : matrices * hidden * mixture.expertIntermediateSize;
  const experts = sparse * ofLayer * expert;
  const activeExperts = sparse * (mixture?.expertsPerToken ?? 0) * expert;
  const layers = attention + mlp + experts;
  const activeLayers = attention + mlp + activeExperts;
  const embedding = hidden * shape.vocabularySize;
  const beyond = shape.tiedEmbeddings ? embedding : 2 * embedding;
  return {
    attention,
    mlp,
    experts,
    activeExperts,
    layers,
    activeLayers,
    head: embedding,
    embedding,
    total: layers + beyond,
    active: activeLayers + beyond,
  };
}

/** Projections of one layer. Layers of linear attention are taken to have as many weights as the others. */
function attentionOfLayer({
  hiddenSize: hidden,
  attentionHeads: heads,
  kvHeads,
  headDim,
  latentAttention,
}: CompleteShape): number {
  // biome-ignore format: one signature
  if (latentAttention === undefined) return 2 * hidden * heads * headDim + 2 * hidden * kvHeads * headDim;
  const { kvRank, ropeDim, nopeDim, valueDim, queryRank } = latentAttention;
  const query = heads * (nopeDim + ropeDim);
  const queries = queryRank === null ? hidden * query : hidden * queryRank + queryRank * query;
  return queries + hidden * (kvRank + ropeDim) + kvRank * heads * (nopeDim + valueDim) + heads * valueDim * hidden;
}

/** Bytes of a checkpoint's weights in a precision, by where they stand. */
export interface WeightBytes {
  readonly layers: number;
  /** Of the layers, what one token takes. */
  readonly activeLayers: number;
  readonly embedding: number;
  /** What making logits reads; in memory it is nothing of its own with tied embeddings. */
  readonly head: number;
  /** What they take in memory. */
  readonly total: number;
}

/** Weights of a shape in a precision, bytes. */
export function weightBytesOf(shape: CompleteShape, precision: Precision): WeightBytes {
  const { attention, mlp, experts, activeExperts, embedding, head } = parametersOf(shape);
  const rest = (attention * precision.attentionBits + mlp * (experts > 0 ? precision.attentionBits : precision.layerBits)) / 8; // biome-ignore format: one formula
  const layers = rest + (experts * precision.layerBits) / 8;
  const embeddingBytes = (embedding * precision.embeddingBits) / 8;
  const headBytes = (head * precision.headBits) / 8;
  return {
    layers,
    activeLayers: rest + (activeExperts * precision.layerBits) / 8,
    embedding: embeddingBytes,
    head: headBytes,
    total: layers + embeddingBytes + (shape.tiedEmbeddings ? 0 : headBytes),
  };
}

/** Layers that keep keys and values of every token that they may attend to. */
export const kvLayers = ({ layers, linearAttentionLayers = 0 }: ModelShape): number => layers - linearAttentionLayers;

/**
 * Bytes that one token adds to the KV cache of one GPU while its context is within every window, in all layers. Under
 * tensor parallelism GPUs share the heads of keys and values; with more GPUs than heads each keeps one, and the
 * compressed vector of latent attention is kept whole by all.
 */
export function kvBytesPerToken(shape: CompleteShape, kvDtype: KvDtype, tensorParallel = 1): number {
  return kvLayers(shape) * kvBytesPerTokenAndLayer(shape, kvDtype, tensorParallel);
}

function kvBytesPerTokenAndLayer(shape: CompleteShape, kvDtype: KvDtype, tensorParallel: number): number {
  const { latentAttention, kvHeads, headDim } = shape;
  const width =
    latentAttention === undefined
      ? 2 * Math.ceil(kvHeads / tensorParallel) * headDim
      : latentAttention.kvRank + latentAttention.ropeDim;
  return width * kvDtypes[kvDtype];
}

/** Bytes in the KV cache of one GPU for a sequence of so many tokens: layers with a window keep no more than it. */
export function kvBytesOfSequence(shape: CompleteShape, kvDtype: KvDtype, tokens: number, tensorParallel = 1): number {
  const window = shape.slidingWindow;
  const kept = window === undefined ? 0 : window.layers * (tokens - Math.min(tokens, window.tokens));
  return (kvLayers(shape) * tokens - kept) * kvBytesPerTokenAndLayer(shape, kvDtype, tensorParallel);
}

/** FLOP of the layers' matrices for one token: a multiplication and an addition a weight. */
export const linearFlopPerToken = (shape: CompleteShape): number => 2 * parametersOf(shape).activeLayers;

/** FLOP of the LM head for one position whose next token is wanted. */
export const headFlopPerPosition = (shape: CompleteShape): number => 2 * parametersOf(shape).head;

/** FLOP for a pair of a query and a key that it attends to, in one layer: the product with the key, and with the value. */
export function attentionFlopPerPair({ attentionHeads: heads, headDim, latentAttention }: CompleteShape): number {
  if (latentAttention === undefined) return 4 * heads * headDim;
  return 2 * heads * (latentAttention.nopeDim + latentAttention.ropeDim + latentAttention.valueDim);
}

/** What attention does in one pass over a sequence, over all layers. */
export interface AttentionWork {
  readonly prefillFlop: number;
  readonly decodeFlop: number;
  /** Bytes of keys and values that decode reads, on one GPU. */
  readonly kvReadBytes: number;
  /** Bytes of keys and values that are written, on one GPU. */
  readonly kvWriteBytes: number;
}

/**
 * Work of attention for a prompt of `input` tokens and an answer of `output`. The first token of the answer comes from
 * the prompt's pass; each later one attends to all before it. A causal prompt has `input² / 2` pairs.
 */
export function attentionWork(
  shape: CompleteShape,
  kvDtype: KvDtype,
  { input, output }: { readonly input: number; readonly output: number },
  tensorParallel = 1,
): AttentionWork {
  // biome-ignore format: one signature
  const perPair = attentionFlopPerPair(shape);
  const perToken = kvBytesPerTokenAndLayer(shape, kvDtype, tensorParallel);
  const most = shape.attendedTokens ?? Number.POSITIVE_INFINITY;
  const windowed = shape.slidingWindow?.layers ?? 0;
  const groups = [
    { layers: kvLayers(shape) - windowed, window: most },
    { layers: windowed, window: Math.min(most, shape.slidingWindow?.tokens ?? most) },
  ];
  const work = { prefillFlop: 0, decodeFlop: 0, kvReadBytes: 0 };
  for (const { layers, window } of groups) {
    if (layers === 0) continue;
    const read = contextsFrom(input + 1, input + output - 1, window);
    work.prefillFlop += layers * perPair * causalPairs(input, window);
    work.decodeFlop += layers * perPair * read;
    work.kvReadBytes += layers * perToken * read;
  }
  return { ...work, kvWriteBytes: kvLayers(shape) * perToken * (input + Math.max(0, output - 1)) };
}

/** Pairs of a causal prompt where each token attends to the last `window`. */
const causalPairs = (tokens: number, window: number): number =>
  tokens <= window ? tokens ** 2 / 2 : window ** 2 / 2 + window * (tokens - window);

/** The sum of `min(context, window)` for every context from `first` to `last`. */
function contextsFrom(first: number, last: number, window: number): number {
  if (last < first) return 0;
  const within = Math.max(0, Math.min(last, window) - first + 1);
  const beyond = last - first + 1 - within;
  return (within * (2 * first + within - 1)) / 2 + (beyond === 0 ? 0 : beyond * window);
}
