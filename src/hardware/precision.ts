/** Number formats in which a GPU multiplies matrices. */
export type MatrixFormat = 'bf16' | 'fp8' | 'int8' | 'fp4';

/** How the weights of a checkpoint are kept. */
export interface Precision {
  /** Bits a weight of MLPs or experts, scales and zero points included. */
  readonly layerBits: number;
  /** Bits a weight of attention and of what stands beside experts: some checkpoints quantize experts only. */
  readonly attentionBits: number;
  /** Bits a weight of the embedding. */
  readonly embeddingBits: number;
  /** Bits a weight of the LM head. */
  readonly headBits: number;
  /** In which format the layers' matrices are multiplied, on a GPU that can. */
  readonly format: MatrixFormat;
  /** A format that the GPU must multiply for that; without it, `format` itself. */
  readonly needs?: MatrixFormat;
}

const uniform = (bits: number, format: MatrixFormat): Precision => ({
  layerBits: bits,
  attentionBits: bits,
  embeddingBits: bits,
  headBits: bits,
  format,
});

/** Published checkpoints leave the embedding and the head in 16 bits. */
const layersOnly = (bits: number, format: MatrixFormat): Precision => ({
  ...uniform(16, format),
  layerBits: bits,
  attentionBits: bits,
});

/**
 * Bits a weight, from the formats' own layouts: AWQ and GPTQ keep a 16-bit scale and a 4-bit zero point for each 128
 * weights; NVFP4 an 8-bit scale for 16, MXFP4 one for 32; blocks of GGUF carry their scales (Q8_0 34 bytes for 32
 * weights, Q4_K 144 bytes for 256, Q5_K 176, Q6_K 210). Q4_K_M is a mixture of Q4_K and Q6_K, 4.85 bits on average.
 * llama.cpp multiplies its blocks as 8-bit integers.
 */
export const precisions = {
  bf16: uniform(16, 'bf16'),
  fp8: layersOnly(8, 'fp8'),
  int8: layersOnly(8, 'int8'),
  awq: layersOnly(4 + (16 + 4) / 128, 'bf16'),
  gptq: layersOnly(4 + (16 + 4) / 128, 'bf16'),
  nvfp4: layersOnly(4 + 8 / 16, 'fp4'),
  /** As gpt-oss has it: only the experts in four bits; GPUs with FP4 multiply them by activations of 8 bits. */
  mxfp4: { ...uniform(16, 'fp8'), layerBits: 4 + 8 / 32, needs: 'fp4' },
  q8_0: uniform(8.5, 'int8'),
  q6_k: uniform(6.5625, 'int8'),
  q5_k: uniform(5.5, 'int8'),
  q4_k: uniform(4.5, 'int8'),
  q4_k_m: uniform(4.85, 'int8'),
  q4_0: uniform(4.5, 'int8'),
} satisfies Record<string, Precision>;

export type PrecisionName = keyof typeof precisions;

/** Bytes of one number in a KV cache. */
export const kvDtypes = { bf16: 2, fp8: 1, int8: 1, q8_0: 34 / 32, q4_0: 18 / 32, fp4: 4.5 / 8 } as const;

export type KvDtype = keyof typeof kvDtypes;

/** Other names of the same, as checkpoints, settings and file names write them. */
const aliases: readonly (readonly [RegExp, PrecisionName])[] = [
  [/^(bf16|bfloat16|fp16|float16|half|f16|auto|none)$/, 'bf16'],
  [/^(fp8|fp8[_-].+|.*fp8[_-]dynamic|float8.*|fbgemm_fp8|ptpc_fp8|modelopt|modelopt_fp8)$/, 'fp8'],
  [/^(int8|w8a8|w8a8_int8|int8_online)$/, 'int8'],
  [/^(awq|awq_marlin|w4a16|int4|.*gptq[_-]int4)$/, 'awq'],
  [/^(gptq|gptq_marlin|auto-round)$/, 'gptq'],
  [/^(nvfp4|modelopt_fp4|fp4)$/, 'nvfp4'],
  [/^(mxfp4)$/, 'mxfp4'],
  [/^(iq4_xs|q4_k_s|q4_1)$/, 'q4_k'],
  [/^(q5_k_m|q5_k_s|q5_0)$/, 'q5_k'],
];

/** The precision under any of its names (`quant_method`, a setting's value, a GGUF type); null where none is known. */
export function precisionNamed(name: string | null): PrecisionName | null {
  if (name === null) return 'bf16';
  const key = name.toLowerCase();
  if (Object.hasOwn(precisions, key)) return key as PrecisionName;
  return aliases.find(([pattern]) => pattern.test(key))?.[1] ?? null;
}

/** The KV dtype under any of its names (`fp8_e5m2`, `bfloat16`, `auto`); null where none is known. */
export function kvDtypeNamed(name: string | null): KvDtype | null {
  if (name === null) return 'bf16';
  const key = name.toLowerCase();
  if (Object.hasOwn(kvDtypes, key)) return key as KvDtype;
  if (/^(auto|bfloat16|float16|fp16|f16)$/.test(key)) return 'bf16';
  if (/^fp8/.test(key)) return 'fp8';
  return /^(nvfp4|fp4)/.test(key) ? 'fp4' : null;
}
