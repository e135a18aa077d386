import { z } from 'zod';
import type { SettingValue } from '../../records/settings.ts';
import type { Mapping } from '../mapping.ts';

const positive = z.int().positive().optional();

export const settings = z.strictObject({
  quantization: z
    .enum(['fp8', 'awq', 'gptq_int4', 'gptq_int8', 'nvfp4', 'fp8_online'])
    .optional()
    .describe('fp8, awq and the like take the checkpoint MODEL-FP8, MODEL-AWQ, ...; fp8_online converts at load'),
  attention_backend: z
    .enum([
      'fa3',
      'flashinfer',
      'triton',
      'torch_native',
      'flex_attention',
      'trtllm_mha',
      'trtllm_mla',
      'flashmla',
      'cutlass_mla',
      'nsa',
      'aiter',
      'wave',
      'intel_amx',
      'ascend',
    ])
    .optional()
    .describe('Default: what suits the GPU and the model'),
  kv_cache_dtype: z
    .enum(['auto', 'bfloat16', 'fp8', 'fp8_e4m3', 'fp8_e5m2'])
    .optional()
    .describe('Number format of the KV cache; fp8 is fp8_e4m3; default auto, that of the model'),
  dtype: z.enum(['auto', 'half', 'float16', 'bfloat16', 'float', 'float32']).optional().describe('--dtype'),
  max_running_requests: positive.describe('--max-running-requests'),
  max_batched_tokens: positive.describe('--max-prefill-tokens: most prompt tokens in a step; chunks bound it as well'),
  context_length: positive.describe('--context-length'),
  gpu_memory_fraction: z.number().gt(0).lt(1).optional().describe('--mem-fraction-static: weights and KV cache'),
  kv_block_size: positive.describe('--page-size'),
  kv_offload_gib: z
    .number()
    .positive()
    .optional()
    .describe('--enable-hierarchical-cache with --hicache-size, each GPU'),
  prefix_caching: z.boolean().optional().describe('false passes --disable-radix-cache; default on'),
  chunked_prefill: z.boolean().optional().describe('false passes --chunked-prefill-size=-1; default on'),
  chunked_prefill_size: positive.describe('--chunked-prefill-size'),
  scheduling_policy: z
    .enum(['fcfs', 'lpm', 'random', 'dfs-weight', 'lof', 'priority'])
    .optional()
    .describe('--schedule-policy; default fcfs'),
  scheduling_conservativeness: z.number().positive().optional().describe('--schedule-conservativeness; default 1'),
  async_scheduling: z.boolean().optional().describe('false passes --disable-overlap-schedule; default on'),
  tensor_parallel: positive.describe('--tp-size'),
  pipeline_parallel: positive.describe('--pp-size'),
  data_parallel: positive.describe('--dp-size'),
  expert_parallel: z.boolean().optional().describe('true passes --ep-size with the value of tensor_parallel'),
  cuda_graphs: z.boolean().optional().describe('false passes --disable-cuda-graph'),
  cuda_graph_max_batch: positive.describe('--cuda-graph-max-bs'),
  torch_compile: z.boolean().optional().describe('--enable-torch-compile; default off'),
  speculative_method: z
    .enum(['ngram', 'eagle', 'eagle3', 'mtp', 'draft_model'])
    .optional()
    .describe('--speculative-algorithm: NGRAM, EAGLE, EAGLE3, NEXTN, STANDALONE'),
  speculative_model: z.string().min(1).optional().describe('--speculative-draft-model-path'),
  speculative_tokens: positive.describe('Tokens drafted in a row: --speculative-num-steps, without branches'),
  api_servers: positive.describe('--tokenizer-worker-num'),
  stream_interval: positive.describe('--stream-interval'),
  extra_args: z.string().min(1).optional().describe('Flags passed on as they stand'),
});

const algorithms: Readonly<Record<string, string>> = {
  ngram: 'NGRAM',
  eagle: 'EAGLE',
  eagle3: 'EAGLE3',
  mtp: 'NEXTN',
  draft_model: 'STANDALONE',
};

/** The draft that is verified holds the last sure token as well. */
const draftTokens = (drafted: SettingValue): number => Number(drafted) + 1;

/**
 * Flags by version, from the sources of 0.5.5.post1 and 0.5.11, which have all of them in common. A quantization that is
 * a checkpoint is said by the model's name, and `extra_args` by themselves.
 */
export const mapping: Mapping = {
  quantization: { flag: '--quantization', say: () => 'fp8' },
  attention_backend: { flag: '--attention-backend' },
  kv_cache_dtype: { flag: '--kv-cache-dtype', say: (dtype) => (dtype === 'fp8' ? 'fp8_e4m3' : dtype) },
  dtype: { flag: '--dtype' },
  max_running_requests: { flag: '--max-running-requests' },
  max_batched_tokens: { flag: '--max-prefill-tokens' },
  context_length: { flag: '--context-length' },
  gpu_memory_fraction: { flag: '--mem-fraction-static' },
  kv_block_size: { flag: '--page-size' },
  // It counts whole gigabytes of 10^9 bytes.
  kv_offload_gib: {
    flag: '--enable-hierarchical-cache',
    say: (gib) => ['--hicache-size', Math.max(1, Math.round(Number(gib) * 1.073741824))],
  },
  prefix_caching: { off: '--disable-radix-cache' },
  chunked_prefill: { off: '--chunked-prefill-size=-1' },
  chunked_prefill_size: { flag: '--chunked-prefill-size' },
  scheduling_policy: { flag: '--schedule-policy' },
  scheduling_conservativeness: { flag: '--schedule-conservativeness' },
  async_scheduling: { off: '--disable-overlap-schedule' },
  tensor_parallel: { flag: '--tp-size' },
  pipeline_parallel: { flag: '--pp-size' },
  data_parallel: { flag: '--dp-size' },
  expert_parallel: { flag: '--ep-size' },
  cuda_graphs: { off: '--disable-cuda-graph' },
  cuda_graph_max_batch: { flag: '--cuda-graph-max-bs' },
  torch_compile: { on: '--enable-torch-compile' },
  speculative_method: { flag: '--speculative-algorithm', say: (method) => algorithms[String(method)] ?? method },
  speculative_model: { flag: '--speculative-draft-model-path' },
  // All three or none: a part of them ends the start.
  speculative_tokens: {
    flag: '--speculative-num-steps',
    say: (n) => [n, '--speculative-eagle-topk', 1, '--speculative-num-draft-tokens', draftTokens(n)],
  },
  api_servers: { flag: '--tokenizer-worker-num' },
  stream_interval: { flag: '--stream-interval' },
};

/** Where n-grams draft there is no model that takes steps, so only the size of the draft is said. */
export const ngramMapping: Mapping = {
  ...mapping,
  speculative_tokens: { flag: '--speculative-num-draft-tokens', say: draftTokens },
};
