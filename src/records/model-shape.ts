/** What of a model's `config.json` settings depend on. */
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
}
