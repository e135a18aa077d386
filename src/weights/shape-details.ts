import type { LatentAttention, MixtureShape, ModelShape, SlidingWindow } from '../records/model-shape.ts';

export type Config = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Config =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0;

/** Multimodal models keep what belongs to the language model apart, at times two levels down. */
const languageParts = ['text_config', 'llm_config', 'language_config', 'thinker_config'];

/** The language model's part of a configuration, with what its class fills in where the file leaves it out. */
export function languageIn(config: Config): Config {
  for (const name of languageParts) {
    const part = config[name];
    if (isObject(part)) return languageIn(part);
  }
  return { ...classDefaults[typeOf(config)], ...config };
}

const typeOf = ({ model_type: type }: Config): string => (typeof type === 'string' ? type : '');

/** Files hold what differs from the defaults of a class in transformers; of these classes it is too little by itself. */
const classDefaults: Readonly<Record<string, Config>> = {
  gemma3_text: {
    num_attention_heads: 8,
    num_key_value_heads: 4,
    head_dim: 256,
    max_position_embeddings: 131072,
    vocab_size: 262208,
    sliding_window: 4096,
  },
};

/** Classes whose embedding is the LM head unless their file says otherwise. */
const tiedByDefault = /^(gemma|gpt2$|gpt_bigcode$|cohere|bloom$|falcon$|opt$|mpt$|starcoder2$)/;
/** Classes whose MLP has two matrices, not three. */
const plainMlp = /^(gpt2|gpt_bigcode|gptj|gpt_neo|gpt_neox|opt|bloom|falcon|mpt|phi|starcoder2|nemotron)$/;

interface Known {
  /** The whole file: multimodal models say there whether embeddings are tied. */
  readonly config: Config;
  readonly language: Config;
  /** Where to look for sizes. */
  readonly parts: readonly Config[];
  readonly layers: number;
  readonly hiddenSize: number;
  readonly attentionHeads: number;
  readonly experts: number;
}

type Details = Omit<ModelShape, 'attentionHeads' | 'kvHeads' | 'layers' | 'hiddenSize' | 'maxPositions' | 'experts' | 'quantization'>; // biome-ignore format: one type

/** What a configuration says beyond the sizes that every one has; what it does not say is left out. */
export function detailsIn(known: Known): Details {
  const { config, language, layers, hiddenSize, attentionHeads } = known;
  const type = typeOf(language);
  const count = counter(known.parts);
  const headDim = count('head_dim');
  // GPT-2 and its kin widen by four where their file does not say.
  const fallback = plainMlp.test(type) ? 4 * hiddenSize : undefined;
  const mixture = mixtureIn(known);
  const attendedTokens = count('index_topk');
  const linear = linearLayersIn(language, layers);
  return defined({
    headDim: headDim === undefined || headDim === hiddenSize / attentionHeads ? undefined : headDim,
    intermediateSize: denseWidth(known) ?? fallback,
    gatedMlp: type === '' ? undefined : !plainMlp.test(type),
    vocabularySize: count('vocab_size', 'padded_vocab_size'),
    tiedEmbeddings: tiedIn([language, config]) ?? (type === '' ? undefined : tiedByDefault.test(type)),
    mixture,
    slidingWindow: windowIn(language, layers),
    latentAttention: latentIn(language),
    linearAttentionLayers: linear > 0 ? linear : undefined,
    attendedTokens,
  });
}

function counter(parts: readonly Config[]) {
  return (...names: readonly string[]): number | undefined => {
    for (const name of names) for (const part of parts) if (isCount(part[name])) return part[name];
    return undefined;
  };
}

/** Without the properties that are undefined. */
function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, v]) => v !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function tiedIn(parts: readonly Config[]): boolean | undefined {
  const said = parts.map(({ tie_word_embeddings: tied }) => tied).find((tied) => typeof tied === 'boolean');
  return typeof said === 'boolean' ? said : undefined;
}

/** Llama 4 keeps the width of its dense layers apart. */
const denseWidth = ({ parts }: Known): number | undefined =>
  counter(parts)('intermediate_size_mlp', 'intermediate_size', 'n_inner', 'ffn_hidden_size', 'ffn_dim');

function mixtureIn({ parts, language, layers, experts }: Known): MixtureShape | undefined {
  const count = counter(parts);
  const expertsPerToken = count('num_experts_per_tok', 'experts_per_token', 'moe_top_k', 'moe_topk', 'moe_k');
  const expertIntermediateSize = count('moe_intermediate_size', 'expert_ffn_hidden_size', 'ffn_hidden_size', 'intermediate_size'); // biome-ignore format: one quantity a line
  if (experts === 0 || expertsPerToken === undefined || expertIntermediateSize === undefined) return undefined;
  const sharedExperts = count('n_shared_experts', 'num_shared_experts', 'moe_num_shared_experts') ?? 0;
  return {
    expertsPerToken,
    expertIntermediateSize,
    sharedIntermediateSize:
      count('shared_expert_intermediate_size', 'moe_shared_expert_intermediate_size', 'shared_intermediate_size') ??
      // Llama 4 has one beside its experts and does not say so.
      (/^llama4/.test(typeOf(language)) ? 1 : sharedExperts) * expertIntermediateSize,
    denseLayers: denseLayersIn(language, layers),
  };
}

/** Layers without experts, by any of the ways to say so. */
function denseLayersIn(language: Config, layers: number): number {
  if (Array.isArray(language.mlp_layer_types)) return layersOfType(language.mlp_layer_types, 'dense');
  const { first_k_dense_replace: first, decoder_sparse_step: step, interleave_moe_layer_step: every, mlp_only_layers: only } = language; // biome-ignore format: one row of names
  const from = isCount(first) ? first : 0;
  const period = [step, every, language.moe_layer_freq].find(isCount) ?? 1;
  const dense = new Set(Array.isArray(only) ? only : []);
  let count = 0;
  for (let layer = 0; layer < layers; layer++) {
    // DeepSeek counts its period from the first layer, the others end each period with a sparse layer.
    const sparse = isCount(language.moe_layer_freq) ? layer % period === 0 : (layer + 1) % period === 0;
    if (layer < from || dense.has(layer) || !sparse) count++;
  }
  return count;
}

/** Layers that see a window only. */
function windowIn(language: Config, layers: number): SlidingWindow | undefined {
  const { sliding_window: tokens, layer_types: types, sliding_window_pattern: given, use_sliding_window: used } = language; // biome-ignore format: one row of names
  const type = typeOf(language);
  const listed = layersOfType(types, 'chunked_attention');
  if (listed > 0 && isCount(language.attention_chunk_size)) {
    return { tokens: language.attention_chunk_size, layers: listed };
  }
  if (!isCount(tokens) || used === false || (used === undefined && /^qwen2|^qwen3/.test(type))) return undefined;
  const windowed = Array.isArray(types)
    ? layersOfType(types, 'sliding_attention')
    : (layersByPattern(isCount(given) ? given : patterns[type], layers) ?? layersByIndex(language, layers));
  return windowed > 0 ? { tokens, layers: windowed } : undefined;
}

/** Every so manieth layer attends to everything, of classes that do not say so in their files. */
const patterns: Readonly<Record<string, number>> = { gemma2: 2, gemma3_text: 6, gemma3: 6, cohere2: 4, gpt_oss: 2 };

const layersByPattern = (pattern: number | undefined, layers: number): number | undefined =>
  pattern === undefined ? undefined : layers - Math.floor(layers / pattern);

/** Qwen 2 gives the window to the layers from an index on; others, such as Mistral and Phi-3, to all. */
const layersByIndex = ({ use_sliding_window: used, max_window_layers: first }: Config, layers: number): number =>
  used === true && typeof first === 'number' ? Math.max(0, layers - first) : layers;

const layersOfType = (types: unknown, wanted: string): number =>
  Array.isArray(types) ? types.filter((type) => type === wanted).length : 0;

function linearLayersIn({ layer_types: types, full_attention_interval: interval }: Config, layers: number): number {
  if (Array.isArray(types)) return layersOfType(types, 'linear_attention');
  return isCount(interval) ? layers - Math.floor(layers / interval) : 0;
}

function latentIn(language: Config): LatentAttention | undefined {
  const { kv_lora_rank: kvRank, qk_rope_head_dim: ropeDim, qk_nope_head_dim: nopeDim, v_head_dim: valueDim } = language;
  if (!isCount(kvRank) || !isCount(ropeDim) || !isCount(nopeDim) || !isCount(valueDim)) return undefined;
  return { kvRank, ropeDim, nopeDim, valueDim, queryRank: isCount(language.q_lora_rank) ? language.q_lora_rank : null };
}
