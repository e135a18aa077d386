import type { LatentAttention, ModelShape } from '../records/model-shape.ts';
import type { Source } from './gpus.ts';

/** A model whose shape is known without its files. */
export interface KnownModel {
  /** Repository on the hub, of the unquantized model where there is one. */
  readonly repository: string;
  readonly shape: ModelShape;
  readonly source: Source;
}

type Row = readonly [
  repository: string,
  layers: number,
  hiddenSize: number,
  attentionHeads: number,
  kvHeads: number,
  headDim: number,
  intermediateSize: number,
  vocabularySize: number,
  maxPositions: number,
  more?: Partial<ModelShape>,
];

const tied = { tiedEmbeddings: true };
const window = (tokens: number, layers: number) => ({ slidingWindow: { tokens, layers } });

/** Experts in every layer but the first few. */
const mixture = (experts: number, expertsPerToken: number, expertIntermediateSize: number, sharedIntermediateSize = 0, denseLayers = 0) => ({ experts, mixture: { expertsPerToken, expertIntermediateSize, sharedIntermediateSize, denseLayers } }); // biome-ignore format: one shape
const latent = (queryRank: number, nopeDim: number, valueDim: number): { latentAttention: LatentAttention } => ({ latentAttention: { kvRank: 512, ropeDim: 64, nopeDim, valueDim, queryRank } }); // biome-ignore format: one shape

/** Copied from each repository's `config.json`, which is the source of each row. */
const rows: readonly Row[] = [
  ['Qwen/Qwen3-0.6B', 28, 1024, 16, 8, 128, 3072, 151936, 40960, tied],
  ['Qwen/Qwen3-1.7B', 28, 2048, 16, 8, 128, 6144, 151936, 40960, tied],
  ['Qwen/Qwen3-4B', 36, 2560, 32, 8, 128, 9728, 151936, 40960, tied],
  ['Qwen/Qwen3-8B', 36, 4096, 32, 8, 128, 12288, 151936, 40960],
  ['Qwen/Qwen3-14B', 40, 5120, 40, 8, 128, 17408, 151936, 40960],
  ['Qwen/Qwen3-32B', 64, 5120, 64, 8, 128, 25600, 151936, 40960],
  ['Qwen/Qwen3-30B-A3B', 48, 2048, 32, 4, 128, 6144, 151936, 40960, mixture(128, 8, 768)],
  ['Qwen/Qwen3-235B-A22B', 94, 4096, 64, 4, 128, 12288, 151936, 40960, mixture(128, 8, 1536)],
  ['Qwen/Qwen2.5-0.5B', 24, 896, 14, 2, 64, 4864, 151936, 32768, tied],
  ['Qwen/Qwen2.5-1.5B', 28, 1536, 12, 2, 128, 8960, 151936, 32768, tied],
  ['Qwen/Qwen2.5-3B', 36, 2048, 16, 2, 128, 11008, 151936, 32768, tied],
  ['Qwen/Qwen2.5-7B', 28, 3584, 28, 4, 128, 18944, 152064, 32768],
  ['Qwen/Qwen2.5-14B', 48, 5120, 40, 8, 128, 13824, 152064, 32768],
  ['Qwen/Qwen2.5-32B', 64, 5120, 40, 8, 128, 27648, 152064, 32768],
  ['Qwen/Qwen2.5-72B', 80, 8192, 64, 8, 128, 29568, 152064, 32768],
  ['meta-llama/Llama-3.1-8B', 32, 4096, 32, 8, 128, 14336, 128256, 131072],
  ['meta-llama/Llama-3.1-70B', 80, 8192, 64, 8, 128, 28672, 128256, 131072],
  ['meta-llama/Llama-3.1-405B', 126, 16384, 128, 8, 128, 53248, 128256, 131072],
  ['meta-llama/Llama-3.2-1B', 16, 2048, 32, 8, 64, 8192, 128256, 131072, tied],
  ['meta-llama/Llama-3.2-3B', 28, 3072, 24, 8, 128, 8192, 128256, 131072, tied],
  ['meta-llama/Llama-3.3-70B', 80, 8192, 64, 8, 128, 28672, 128256, 131072],
  ['mistralai/Mistral-7B-v0.1', 32, 4096, 32, 8, 128, 14336, 32000, 32768, window(4096, 32)],
  ['mistralai/Mistral-7B-v0.2', 32, 4096, 32, 8, 128, 14336, 32000, 32768],
  ['mistralai/Mistral-7B-v0.3', 32, 4096, 32, 8, 128, 14336, 32768, 32768],
  ['mistralai/Mixtral-8x7B-v0.1', 32, 4096, 32, 8, 128, 14336, 32000, 32768, mixture(8, 2, 14336)],
  ['mistralai/Mixtral-8x22B-v0.1', 56, 6144, 48, 8, 128, 16384, 32000, 65536, mixture(8, 2, 16384)],
  ['google/gemma-2-2b', 26, 2304, 8, 4, 256, 9216, 256000, 8192, { ...tied, ...window(4096, 13) }],
  ['google/gemma-2-9b', 42, 3584, 16, 8, 256, 14336, 256000, 8192, { ...tied, ...window(4096, 21) }],
  ['google/gemma-2-27b', 46, 4608, 32, 16, 128, 36864, 256000, 8192, { ...tied, ...window(4096, 23) }],
  ['google/gemma-3-1b', 26, 1152, 4, 1, 256, 6912, 262144, 32768, { ...tied, ...window(512, 22) }],
  ['google/gemma-3-4b', 34, 2560, 8, 4, 256, 10240, 262208, 131072, { ...tied, ...window(1024, 29) }],
  ['google/gemma-3-12b', 48, 3840, 16, 8, 256, 15360, 262208, 131072, { ...tied, ...window(1024, 40) }],
  ['google/gemma-3-27b', 62, 5376, 32, 16, 128, 21504, 262208, 131072, { ...tied, ...window(1024, 52) }],
  ['openai/gpt-oss-20b', 24, 2880, 64, 8, 64, 2880, 201088, 131072, { quantization: 'mxfp4', ...mixture(32, 4, 2880), ...window(128, 12) }],
  ['openai/gpt-oss-120b', 36, 2880, 64, 8, 64, 2880, 201088, 131072, { quantization: 'mxfp4', ...mixture(128, 4, 2880), ...window(128, 18) }],
  ['deepseek-ai/DeepSeek-V3', 61, 7168, 128, 128, 192, 18432, 129280, 163840, { quantization: 'fp8', ...mixture(256, 8, 2048, 2048, 3), ...latent(1536, 128, 128) }],
  ['deepseek-ai/DeepSeek-R1', 61, 7168, 128, 128, 192, 18432, 129280, 163840, { quantization: 'fp8', ...mixture(256, 8, 2048, 2048, 3), ...latent(1536, 128, 128) }],
  ['zai-org/GLM-5', 78, 6144, 64, 64, 256, 12288, 154880, 202752, { ...mixture(256, 8, 2048, 2048, 3), ...latent(2048, 192, 256), attendedTokens: 2048 }],
  ['microsoft/Phi-3-mini-4k', 32, 3072, 32, 32, 96, 8192, 32064, 4096, window(2047, 32)],
  ['microsoft/Phi-3.5-mini', 32, 3072, 32, 32, 96, 8192, 32064, 131072],
  ['microsoft/phi-4', 40, 5120, 40, 10, 128, 17920, 100352, 16384],
  ['microsoft/Phi-4-mini', 32, 3072, 24, 8, 128, 8192, 200064, 131072, tied],
]; // biome-ignore format: one model a line

/** Every model of the table. */
export const knownModels: readonly KnownModel[] = rows.map(
  ([repository, layers, hiddenSize, attentionHeads, kvHeads, headDim, intermediateSize, vocabularySize, maxPositions, more]) => ({
    repository,
    shape: { attentionHeads, kvHeads, layers, hiddenSize, maxPositions, experts: 0, quantization: null, headDim, intermediateSize, gatedMlp: true, vocabularySize, tiedEmbeddings: false, ...more },
    source: { title: `config.json of ${repository}`, url: `https://huggingface.co/${repository}/blob/main/config.json` },
  }),
); // biome-ignore format: one property a line

/** Words of a name that change neither layers nor sizes. */
const withoutEffect = /^(instruct|it|pt|chat|base|hf|thinking|coder|meta|gguf|qat|dynamic|unquantized|unsloth|bnb|bf16|fp16|\d{4})$/; // biome-ignore format: one pattern
/** Words that tell the precision, and its name. */
const quantized: readonly (readonly [RegExp, string])[] = [
  [/^(fp8|fp8_dynamic)$/, 'fp8'],
  [/^(awq|w4a16|quantized\.w4a16)$/, 'awq'],
  [/^gptq$/, 'gptq'],
  [/^(w8a8|int8|quantized\.w8a8)$/, 'int8'],
  [/^(nvfp4|fp4)$/, 'nvfp4'],
  [/^mxfp4$/, 'mxfp4'],
  [/^(int4|4bit)$/, 'awq'],
];
const ggufType = /^i?q\d+_[a-z0-9_]+$/;

/**
 * The model of a name, a repository or a file: `Qwen/Qwen3-14B-FP8` and `qwen3-14b-q4_k_m.gguf` have the shape of
 * `Qwen3-14B` and a quantization of their own. Null where the table has no such model.
 */
export function modelNamed(name: string): KnownModel | null {
  const last = name.split(/[/\\]/).at(-1) ?? name;
  const words = last.toLowerCase().replace(/\.gguf$/, '').replace(/\.(?=i?q\d)/, '-').split('-'); // biome-ignore format: one chain
  const kept = words.filter((word) => !withoutEffect.test(word) && quantizationOf(word) === null);
  // Mistral's models carry a version, which people leave out.
  const candidates = ['', '-v0.3', '-v0.1'].map((version) => keys.indexOf(kept.join('-') + version));
  const known = knownModels[candidates.find((index) => index >= 0) ?? -1];
  if (known === undefined) return null;
  // GPTQ-Int4 says it twice; the first word counts.
  const quantization = words.map(quantizationOf).find((q) => q !== null) ?? known.shape.quantization;
  // The releases of July 2025 are trained for longer sequences.
  const longer = /^qwen3/.test(kept[0] ?? '') && words.includes('2507') ? { maxPositions: 262144 } : {};
  return { ...known, shape: { ...known.shape, ...longer, quantization } };
}

const quantizationOf = (word: string): string | null =>
  ggufType.test(word) ? word : (quantized.find(([pattern]) => pattern.test(word))?.[1] ?? null);

const keys = knownModels.map(({ repository }) => repository.split('/')[1]?.toLowerCase());
