/** Endings of the names under which quantized variants of a model are published, by the value of `quantization`. */
export const checkpointEndings = {
  fp8: '-FP8',
  awq: '-AWQ',
  gptq_int4: '-GPTQ-Int4',
  gptq_int8: '-GPTQ-Int8',
  nvfp4: '-NVFP4',
} as const satisfies Record<string, string>;

export type CheckpointQuantization = keyof typeof checkpointEndings;

/** Whether a quantization is a checkpoint of its own, and not something that an engine does at load. */
export const isCheckpoint = (quantization: unknown): quantization is CheckpointQuantization =>
  typeof quantization === 'string' && quantization in checkpointEndings;

/**
 * The checkpoint that a quantization of a model stands for: `Qwen/Qwen3-14B-FP8`; a local folder likewise. NVFP4
 * checkpoints are published by NVIDIA, whoever made the model. A model that is such a variant itself counts as the one
 * that it was made from. The model as it is where the quantization is none of these.
 */
export function checkpointOf(model: string, quantization: unknown): string {
  if (!isCheckpoint(quantization)) return model;
  const path = model.replace(/\/+$/, '');
  const own = Object.values(checkpointEndings).find((ending) => path.toLowerCase().endsWith(ending.toLowerCase()));
  const base = own === undefined ? path : path.slice(0, -own.length);
  const named = `${base}${checkpointEndings[quantization]}`;
  const repository = /^[\w-][\w.-]*\/([\w.-]+)$/.exec(named);
  return quantization === 'nvfp4' && repository ? `nvidia/${repository[1]}` : named;
}
