import { availableParallelism } from 'node:os';
import { z } from 'zod';
import type { Problem } from '../../kit/errors.ts';
import type { AddonContextOptions } from './addon.ts';

/** Number formats of the KV cache that llama.cpp computes with on every CPU, with their numbers in ggml. */
export const cacheTypes = { f32: 0, f16: 1, bf16: 30, q8_0: 8, q5_1: 7, q5_0: 6, q4_1: 3, q4_0: 2 } as const;

export type CacheType = keyof typeof cacheTypes;

export const cacheTypeNames = Object.keys(cacheTypes) as [CacheType, ...CacheType[]];

/** Number formats of the weights that a model can be had in. */
export const quantizations = ['f16', 'q8_0', 'q4_0'] as const;

/** llama.cpp is compiled for no more. */
const mostSequences = 256;

/** Context of one request where none is asked for; see `context_length`. */
export const defaultContextLength = 4096;

/** The options of `servetune serve`; flags, help and validation come from here. */
export const serveOptions = z.object({
  model: z.string().min(1).describe('tiny-qwen3 (random weights, made on first use) or the path of a GGUF file'),
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  port: z.int().min(0).max(65535).default(8080).describe('Port to listen on; 0 takes a free one'),
  quantization: z
    .enum(quantizations)
    .optional()
    .describe('Number format of the weights; default: the file as it is, f16 for tiny-qwen3'),
  flash_attn: z
    .enum(['on', 'off'])
    .optional()
    .describe('Flash attention; default: on where the processor and the model have it'),
  parallel: z
    .int()
    .min(1)
    .default(4)
    .describe(`Most requests decoded together, at most ${mostSequences}; the others wait`),
  // llama.cpp's addon has one number for what llama-server calls the logical batch (2048) and the physical one (512).
  // The physical one is what a step computes and what its buffers are sized for (512 tokens of logits are 0.3 GB with a
  // vocabulary of 150 thousand), so its default is taken.
  batch_size: z.int().min(1).default(512).describe('Most tokens in one step; at least as many as --parallel'),
  cache_type: z
    .enum(cacheTypeNames)
    .default('f16')
    .describe('Number format of the KV cache, keys and values; quantized ones need flash attention'),
  // llama-server's -c is the total of all slots, so that more slots silently shorten what each request may have. Here a
  // request's limit does not depend on the number of slots; memory does. The whole cache is claimed at the start, so
  // the default is bounded: models of 128 thousand tokens of context would claim tens of gigabytes that few need.
  context_length: z
    .int()
    .min(1)
    .optional()
    .describe(
      `Longest prompt and answer together of one request, tokens; the KV cache is this times --parallel; default: what ` +
        `the model was trained on, at most ${defaultContextLength}`,
    ),
  // ggml's threads wait for each other by spinning, so one on every core is slowed by anything else that runs, such as
  // this server's own HTTP side.
  threads: z.int().min(1).optional().describe('CPU threads that compute; default: all cores but one, at least 1'),
});

export type ServeOptions = z.infer<typeof serveOptions>;

/** Cores that this process may use. */
export const coreCount = (): number => availableParallelism();

export const defaultThreads = (cores: number): number => Math.max(1, cores - 1);

/** What the caller calls an option, in the messages to its user. */
export type OptionNames = Readonly<
  Record<'flash_attn' | 'parallel' | 'batch_size' | 'cache_type' | 'threads', string> & { on: string; off: string }
>;

export const flagNames: OptionNames = {
  flash_attn: '--flash-attn',
  parallel: '--parallel',
  batch_size: '--batch-size',
  cache_type: '--cache-type',
  threads: '--threads',
  on: 'on',
  off: 'off',
};

/** Values that are fine one by one but would abort the engine, or make it fail or crawl, together or on this machine. */
export function optionProblems(
  options: Partial<Pick<ServeOptions, 'flash_attn' | 'parallel' | 'batch_size' | 'cache_type' | 'threads'>>,
  cores: number,
  names: OptionNames = flagNames,
): readonly Problem[] {
  const defaults = serveOptions.shape;
  const parallel = options.parallel ?? defaults.parallel.parse(undefined);
  const batchSize = options.batch_size ?? defaults.batch_size.parse(undefined);
  const cacheType = options.cache_type ?? defaults.cache_type.parse(undefined);
  const problems: Problem[] = [];
  if (parallel > mostSequences) {
    problems.push({
      place: names.parallel,
      message: `${parallel} sequences are more than llama.cpp can decode together`,
      hint: `at most ${mostSequences}`,
    });
  }
  if (batchSize < parallel) {
    problems.push({
      place: names.batch_size,
      message: `a step of ${batchSize} tokens has no room for one token of each of ${parallel} sequences`,
      hint: `at least ${parallel}, or lower ${names.parallel}`,
    });
  }
  if (isQuantized(cacheType) && options.flash_attn === 'off') {
    problems.push({
      place: names.cache_type,
      message: `values in ${cacheType} can only be read by flash attention, which is off`,
      hint: `f16, f32 or bf16, or set ${names.flash_attn} to ${names.on}`,
    });
  }
  if (options.threads !== undefined && options.threads > cores) {
    problems.push({
      place: names.threads,
      message: `${options.threads} threads on ${cores} ${cores === 1 ? 'core' : 'cores'} spend their time waiting for each other`,
      hint: `at most ${cores}`,
    });
  }
  return problems;
}

const isQuantized = (type: CacheType): boolean => type.startsWith('q');

/** Bytes of one number of the cache, blocks' scales included. */
export const cacheTypeBytes = (type: CacheType): number =>
  ({ f32: 4, f16: 2, bf16: 2, q8_0: 34 / 32, q5_1: 24 / 32, q5_0: 22 / 32, q4_1: 20 / 32, q4_0: 18 / 32 })[type];

/** The options as llama.cpp's context takes them. */
export function contextOptions(options: ServeOptions, contextLength: number, threads: number): AddonContextOptions {
  const contextSize = contextLength * options.parallel;
  const cacheType = cacheTypes[options.cache_type];
  return {
    contextSize,
    // llama.cpp would silently take the smaller of the two, and abort on a batch in between.
    batchSize: Math.min(options.batch_size, contextSize),
    sequences: options.parallel,
    flashAttention: options.flash_attn === undefined ? 'auto' : options.flash_attn === 'on',
    threads,
    kvCacheKeyType: cacheType,
    kvCacheValueType: cacheType,
  };
}
