import { z } from 'zod';
import type { SettingValue } from '../../records/settings.ts';
import type { Mapping } from '../mapping.ts';

/** Names that both the variable of old releases and the flag of new ones take, in capitals. */
export const attentionBackends = [
  'flash_attn',
  'flashinfer',
  'triton_attn',
  'flex_attention',
  'flash_attn_mla',
  'flashinfer_mla',
  'flashmla',
  'cutlass_mla',
  'triton_mla',
  'rocm_attn',
  'rocm_aiter_fa',
  'rocm_aiter_mla',
] as const;

const positive = z.int().positive().optional();

export const settings = z.strictObject({
  quantization: z
    .enum(['fp8', 'awq', 'gptq_int4', 'gptq_int8', 'nvfp4', 'fp8_online'])
    .optional()
    .describe('fp8, awq and the like take the checkpoint MODEL-FP8, MODEL-AWQ, ...; fp8_online converts at load'),
  attention_backend: z.enum(attentionBackends).optional().describe('Default: what suits the GPU and the model'),
  kv_cache_dtype: z
    .enum(['auto', 'bfloat16', 'fp8', 'fp8_e4m3', 'fp8_e5m2'])
    .optional()
    .describe('Number format of the KV cache; default auto, that of the model'),
  dtype: z.enum(['auto', 'half', 'float16', 'bfloat16', 'float', 'float32']).optional().describe('--dtype'),
  max_running_requests: positive.describe('--max-num-seqs'),
  max_batched_tokens: positive.describe('--max-num-batched-tokens'),
  context_length: positive.describe('--max-model-len'),
  gpu_memory_fraction: z.number().gt(0).lte(1).optional().describe('--gpu-memory-utilization'),
  kv_block_size: positive.describe('--block-size'),
  kv_offload_gib: z
    .number()
    .positive()
    .optional()
    .describe('--kv-offloading-size, of all GPUs together; from 0.11.1 on'),
  prefix_caching: z.boolean().optional().describe('--enable-prefix-caching; default on'),
  chunked_prefill: z.boolean().optional().describe('--enable-chunked-prefill; default on'),
  chunked_prefill_size: positive.describe('--long-prefill-token-threshold: most tokens of one prompt in a step'),
  scheduling_policy: z.enum(['fcfs', 'priority']).optional().describe('--scheduling-policy'),
  async_scheduling: z.boolean().optional().describe('--async-scheduling; default off before 0.14'),
  tensor_parallel: positive.describe('--tensor-parallel-size'),
  pipeline_parallel: positive.describe('--pipeline-parallel-size'),
  data_parallel: positive.describe('--data-parallel-size'),
  expert_parallel: z.boolean().optional().describe('--enable-expert-parallel'),
  cuda_graphs: z.boolean().optional().describe('false passes --enforce-eager, which leaves out torch.compile as well'),
  cuda_graph_max_batch: positive.describe('--max-cudagraph-capture-size'),
  torch_compile: z.boolean().optional().describe('Mode 3 or 0 of --compilation-config; default on'),
  performance_mode: z
    .enum(['balanced', 'interactivity', 'throughput'])
    .optional()
    .describe('--performance-mode; from 0.17.0 on'),
  speculative_method: z
    .enum(['ngram', 'eagle', 'eagle3', 'mtp', 'draft_model'])
    .optional()
    .describe('method of --speculative-config'),
  speculative_model: z.string().min(1).optional().describe('model of --speculative-config'),
  speculative_tokens: positive.describe('num_speculative_tokens of --speculative-config'),
  api_servers: positive.describe('--api-server-count'),
  stream_interval: positive.describe('--stream-interval; from 0.11.1 on'),
  extra_args: z.string().min(1).optional().describe('Flags passed on as they stand'),
});

const upperCase = (value: SettingValue): string => String(value).toUpperCase();

/**
 * Flags by version, from the sources of 0.11.0, 0.11.1, 0.12.0, 0.13.0, 0.16.0, 0.17.0 and 0.25.1. A quantization that
 * is a checkpoint is said by the model's name, and `extra_args` by themselves.
 */
export const mapping: Mapping = {
  quantization: [
    // The bare word is on its way out; both mean one scale a matrix.
    { flag: '--quantization', say: () => 'fp8_per_tensor', since: '0.25.1' },
    { flag: '--quantization', say: () => 'fp8', before: '0.25.1' },
  ],
  // The variable is ignored in silence once it is gone, and another backend would be measured.
  attention_backend: [
    { flag: '--attention-backend', say: upperCase, since: '0.13.0' },
    { env: 'VLLM_ATTENTION_BACKEND', say: upperCase, before: '0.13.0' },
  ],
  kv_cache_dtype: { flag: '--kv-cache-dtype' },
  dtype: { flag: '--dtype' },
  max_running_requests: { flag: '--max-num-seqs' },
  max_batched_tokens: { flag: '--max-num-batched-tokens' },
  context_length: { flag: '--max-model-len' },
  gpu_memory_fraction: { flag: '--gpu-memory-utilization' },
  kv_block_size: { flag: '--block-size' },
  // Early releases offload nothing unless they are told how, and say nothing about it.
  kv_offload_gib: {
    flag: '--kv-offloading-size',
    say: (gib) => [gib, '--kv-offloading-backend', 'native'],
    since: '0.11.1',
  },
  prefix_caching: { on: '--enable-prefix-caching', off: '--no-enable-prefix-caching' },
  chunked_prefill: { on: '--enable-chunked-prefill', off: '--no-enable-chunked-prefill' },
  chunked_prefill_size: { flag: '--long-prefill-token-threshold' },
  scheduling_policy: { flag: '--scheduling-policy' },
  async_scheduling: { on: '--async-scheduling', off: '--no-async-scheduling' },
  tensor_parallel: { flag: '--tensor-parallel-size' },
  pipeline_parallel: { flag: '--pipeline-parallel-size' },
  data_parallel: { flag: '--data-parallel-size' },
  expert_parallel: { on: '--enable-expert-parallel', off: '--no-enable-expert-parallel' },
  cuda_graphs: { off: '--enforce-eager' },
  cuda_graph_max_batch: [
    { flag: '--max-cudagraph-capture-size', since: '0.11.1' },
    // A single number here is the largest of a list that the engine makes.
    { flag: '--cuda-graph-sizes', before: '0.11.1' },
  ],
  torch_compile: [
    { json: '--compilation-config', key: 'mode', say: (on) => (on ? 3 : 0), since: '0.11.1' },
    { json: '--compilation-config', key: 'level', say: (on) => (on ? 3 : 0), before: '0.11.1' },
  ],
  performance_mode: { flag: '--performance-mode', since: '0.17.0' },
  speculative_method: { json: '--speculative-config', key: 'method' },
  speculative_model: { json: '--speculative-config', key: 'model' },
  speculative_tokens: { json: '--speculative-config', key: 'num_speculative_tokens' },
  api_servers: { flag: '--api-server-count' },
  stream_interval: { flag: '--stream-interval', since: '0.11.1' },
};
