/** What of a model's `config.json` settings and physics depend on. What an optional field says nothing of is not known. */
export interface ModelShape {
  readonly attentionHeads: number;
  readonly kvHeads: number;
  readonly layers: number;
  readonly hiddenSize: number;
  /** Longest prompt and answer together, tokens. */
  readonly maxPositions: number;
  /** Of a mixture of experts; 0 of a dense model. */
  readonly experts: number;
  /** `quantization_config.quant_method` of the checkpoint; null of an unquantized one. */
  readonly quantization: string | null;
  /** Width of one attention head, where it is not `hiddenSize / attentionHeads`. */
  readonly headDim?: number;
  /** Width of the MLP of a dense layer. */
  readonly intermediateSize?: number;
  /** Whether an MLP has three matrices (gate, up, down) rather than two. Without it, it has. */
  readonly gatedMlp?: boolean;
  /** Rows of the embedding and of the LM head. */
  readonly vocabularySize?: number;
  /** Whether the LM head is the embedding and takes no memory of its own. */
  readonly tiedEmbeddings?: boolean;
  readonly mixture?: MixtureShape;
  readonly slidingWindow?: SlidingWindow;
  readonly latentAttention?: LatentAttention;
  /** Layers that keep a state of constant size instead of keys and values of every token. */
  readonly linearAttentionLayers?: number;
  /** Most earlier tokens that a token attends to, of models that choose them (DeepSeek Sparse Attention). */
  readonly attendedTokens?: number;
}

/** The experts of a model's sparse layers; how many there are is `ModelShape.experts`. */
export interface MixtureShape {
  readonly expertsPerToken: number;
  readonly expertIntermediateSize: number;
  /** Width of the MLP beside the experts that every token takes; 0 where there is none. */
  readonly sharedIntermediateSize: number;
  /** Layers with an ordinary MLP instead of experts. */
  readonly denseLayers: number;
}

/** Layers that attend to the last tokens only, and keep no others. */
export interface SlidingWindow {
  readonly tokens: number;
  /** Layers with the window; the others attend to everything. */
  readonly layers: number;
}

/** Multi-head latent attention: keys and values of all heads are kept as one compressed vector a layer. */
export interface LatentAttention {
  /** Width of the compressed vector (`kv_lora_rank`). */
  readonly kvRank: number;
  /** Width of the part of a head that carries the position, kept beside the compressed vector (`qk_rope_head_dim`). */
  readonly ropeDim: number;
  /** Width of the part of a head's query and key without a position (`qk_nope_head_dim`). */
  readonly nopeDim: number;
  /** Width of a head's value (`v_head_dim`). */
  readonly valueDim: number;
  /** Width of the compressed query (`q_lora_rank`); null where queries are not compressed. */
  readonly queryRank: number | null;
}
