import { stringify } from 'yaml';
import { z } from 'zod';
import type { Command } from '../../hosts/host.ts';
import type { Settings } from '../../records/settings.ts';
import { checkpointOf } from '../checkpoints.ts';
import type { Environment, Launch } from '../engine.ts';
import { inVersions, type Mapping, type Said, say } from '../mapping.ts';
import { extraArgs } from '../rules.ts';

/** Since the 1.3 line most flags have a longer first name, and draft models another key; the old words still work. */
const longNames = '1.3.0rc5';

const gib = 2 ** 30;

/** The file that its options go into, in the folder of the trial. */
const optionsFile = 'trtllm.yaml';

const policies = ['guaranteed_no_evict', 'max_utilization', 'static_batch'] as const;

export const settings = z.strictObject({
  quantization: z
    .enum(['fp8', 'awq', 'nvfp4'])
    .optional()
    .describe('takes the checkpoint MODEL-FP8, MODEL-AWQ or MODEL-NVFP4; nothing is converted at load'),
  dtype: z.enum(['auto', 'float16', 'bfloat16', 'float32']).optional(),
  attention_backend: z.enum(['trtllm', 'flashinfer', 'vanilla']).optional().describe('attn_backend; default trtllm'),
  kv_cache_dtype: z.enum(['auto', 'fp8', 'nvfp4']).optional().describe('kv_cache_config.dtype'),
  max_running_requests: z.int().positive().optional().describe('--max_batch_size; default 2048'),
  max_batched_tokens: z.int().positive().optional().describe('--max_num_tokens; default 8192'),
  context_length: z.int().positive().optional().describe('--max_seq_len; default: what the model was made for'),
  gpu_memory_fraction: z
    .number()
    .gt(0)
    .lt(1)
    .optional()
    .describe(
      'kv_cache_config.free_gpu_memory_fraction: of the memory that the weights leave free, unlike other engines; default 0.9',
    ),
  kv_block_size: z.int().positive().optional().describe('kv_cache_config.tokens_per_block; default 32'),
  kv_offload_gib: z.number().positive().optional().describe('kv_cache_config.host_cache_size'),
  prefix_caching: z.boolean().optional().describe('kv_cache_config.enable_block_reuse; default on'),
  chunked_prefill: z
    .boolean()
    .optional()
    .describe('--enable_chunked_prefill; default off: a prompt longer than max_batched_tokens is refused'),
  scheduling_policy: z.enum(policies).optional().describe('scheduler_config.capacity_scheduler_policy'),
  async_scheduling: z.boolean().optional().describe('false sets disable_overlap_scheduler; default on'),
  tensor_parallel: z.int().positive().optional(),
  pipeline_parallel: z.int().positive().optional(),
  expert_parallel: z.boolean().optional().describe('experts spread over the tensor_parallel GPUs'),
  cuda_graphs: z.boolean().optional().describe('false sets cuda_graph_config to null; default on'),
  cuda_graph_max_batch: z.int().positive().optional().describe('with padding to the next recorded size; default 128'),
  torch_compile: z.boolean().optional().describe('torch_compile_config; default off'),
  speculative_method: z.enum(['eagle3', 'mtp', 'ngram']).optional().describe('speculative_config.decoding_type'),
  speculative_model: z.string().min(1).optional().describe('the EAGLE3 head: a folder or a Hugging Face name'),
  speculative_tokens: z.int().positive().optional(),
  stream_interval: z.int().positive().optional().describe('Steps between two events of a stream; default 1'),
  extra_args: z.string().min(1).optional().describe('Flags passed on as they stand'),
});

/**
 * Everything in `kv_cache_config` goes into the file, the memory fraction too: in 1.2 that part of the file replaces what
 * flags said about it as a whole, and a flag would be lost.
 */
export const mapping: Mapping = {
  max_running_requests: { flag: '--max_batch_size' },
  max_batched_tokens: { flag: '--max_num_tokens' },
  context_length: { flag: '--max_seq_len' },
  tensor_parallel: [
    { flag: '--tensor_parallel_size', since: longNames },
    { flag: '--tp_size', before: longNames },
  ],
  pipeline_parallel: [
    { flag: '--pipeline_parallel_size', since: longNames },
    { flag: '--pp_size', before: longNames },
  ],
  chunked_prefill: { on: '--enable_chunked_prefill' },
  dtype: { option: 'dtype' },
  attention_backend: { option: 'attn_backend', say: (backend) => String(backend).toUpperCase() },
  kv_cache_dtype: { option: 'kv_cache_config.dtype' },
  gpu_memory_fraction: { option: 'kv_cache_config.free_gpu_memory_fraction' },
  kv_block_size: { option: 'kv_cache_config.tokens_per_block' },
  kv_offload_gib: { option: 'kv_cache_config.host_cache_size', say: (size) => Math.round(Number(size) * gib) },
  prefix_caching: { option: 'kv_cache_config.enable_block_reuse' },
  scheduling_policy: {
    option: 'scheduler_config.capacity_scheduler_policy',
    say: (policy) => String(policy).toUpperCase(),
  },
  async_scheduling: { option: 'disable_overlap_scheduler', say: (on) => !on },
  cuda_graph_max_batch: {
    option: 'cuda_graph_config',
    say: (most) => ({ max_batch_size: most, enable_padding: true }),
  },
  stream_interval: { option: 'stream_interval' },
  speculative_method: [
    { option: 'speculative_config.decoding_type', since: longNames, say: (m) => decodingTypes[String(m)] ?? String(m) },
    {
      option: 'speculative_config.decoding_type',
      before: longNames,
      say: (m) => (m === 'eagle3' ? 'Eagle' : (decodingTypes[String(m)] ?? String(m))),
    },
  ],
  speculative_model: [
    { option: 'speculative_config.speculative_model', since: longNames },
    { option: 'speculative_config.speculative_model_dir', before: longNames },
  ],
  speculative_tokens: { option: 'speculative_config.max_draft_len' },
};

const decodingTypes: Readonly<Record<string, string>> = { eagle3: 'Eagle3', mtp: 'MTP', ngram: 'NGram' };

/** What the settings come to, those included that no single word says. */
function said(chosen: Settings, version: string | undefined): Said {
  const { argv, env, options } = say(mapping, chosen, version);
  const more: string[] = [];
  const all: Record<string, unknown> = { ...options };
  if (chosen.expert_parallel === true) {
    more.push(
      inVersions({ since: longNames }, version) ? '--moe_expert_parallel_size' : '--ep_size',
      String(chosen.tensor_parallel ?? 1),
    );
  }
  if (chosen.cuda_graphs === false) all.cuda_graph_config = null;
  if (chosen.torch_compile === true) all.torch_compile_config = {};
  const speculative = all.speculative_config as Record<string, unknown> | undefined;
  if (speculative !== undefined && chosen.speculative_method === 'mtp') {
    // One module drafts one token, and it is the modules that are counted.
    const { max_draft_len: modules, ...others } = speculative;
    all.speculative_config = modules === undefined ? others : { ...others, num_nextn_predict_layers: modules };
  }
  // The default was 0 at first, which matches nothing; it is 2 now.
  if (chosen.speculative_method === 'ngram') all.speculative_config = { ...speculative, max_matching_ngram_size: 2 };
  return { argv: [...argv, ...more], env, options: all };
}

/** Flags that are not the user's to set, in every spelling. */
export const reservedFlags = [
  '--host',
  '--port',
  '--config',
  '--extra_llm_api_options',
  '--served_model_name',
  '--grpc',
];

/** How the options file is named to a version. */
const optionsFlag = (version: string | undefined): readonly string[] => [
  inVersions({ since: longNames }, version) ? '--config' : '--extra_llm_api_options',
  optionsFile,
];

export function command({ model, port, settings: chosen, version }: Launch): Command {
  const { argv, env, options } = said(chosen, version);
  const inFile = Object.keys(options).length > 0;
  return {
    argv: [
      'trtllm-serve',
      checkpointOf(model, chosen.quantization),
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      ...argv,
      ...(inFile ? optionsFlag(version) : []),
      ...extraArgs(chosen),
    ],
    env,
    ...(inFile ? { files: { [optionsFile]: stringify(options) } } : {}),
  };
}

/**
 * Statistics of each step on, which `/metrics` has nothing without. They are an option, so `files` stand in the place of
 * the command's own of the same name.
 */
export function measuring({ settings: chosen, version }: Launch): {
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly files: Readonly<Record<string, string>>;
} {
  const { options } = said(chosen, version);
  return {
    argv: Object.keys(options).length > 0 ? [] : optionsFlag(version),
    env: {},
    files: { [optionsFile]: stringify({ ...options, enable_iter_perf_stats: true }) },
  };
}
