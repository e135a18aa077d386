import type { Counters } from '../../records/counters.ts';
import type { StartPart } from '../engine.ts';

/** Names of 0.5.5 and of now. Prompt tokens stand for queries of the prefix cache: each is looked up. */
export const counters: Counters = {
  format: 'prometheus',
  path: '/metrics',
  names: {
    running: ['sglang:num_running_reqs'],
    waiting: ['sglang:num_queue_reqs'],
    kvUseShare: ['sglang:token_usage'],
    preemptions: ['sglang:num_retracted_requests_total', 'sglang:num_retractions_sum'],
    prefixQueries: ['sglang:prompt_tokens_total'],
    prefixHits: ['sglang:cached_tokens_total'],
    prefixHitShare: ['sglang:cache_hit_rate'],
    acceptedShare: ['sglang:spec_accept_rate'],
  },
};

/** Recorded twice: whole decode steps first, then pieces of prefill, which are compiled before. */
export const startParts: readonly StartPart[] = [
  { part: 'loading', pattern: /Load weight begin/ },
  { part: 'compiling', pattern: /Compiling num tokens/ },
  { part: 'capturing', pattern: /Capture cuda graph begin|Capturing num tokens/ },
  { part: 'warming up', pattern: /max_total_num_tokens=/ },
];

/** What stands in one line of the log, by the setting or fact that it tells; of several patterns the first that is there. */
const told: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['attention_backend', /server_args=ServerArgs\(.*, attention_backend='(\w+)'/],
  ['attention_backend', /Attention backend not (?:explicitly )?specified\. Use (\w+) backend by default/],
  ['gpu_memory_fraction', /server_args=ServerArgs\(.*, mem_fraction_static=([\d.]+)/],
  ['kv_cache_dtype', /Using KV cache dtype: (\S+)/],
  ['cuda_graph_sizes', /Capture cuda graph bs \[([\d, ]+)\]/],
  ['kv_cache_tokens', /\bmax_total_num_tokens=(\d+)/],
  ['kv_cache_tokens', /KV Cache is allocated\. #tokens: (\d+)/],
  ['chunked_prefill_size', /\bmax_total_num_tokens=.*, chunked_prefill_size=(-?\d+)/],
  ['max_batched_tokens', /\bmax_total_num_tokens=.*, max_prefill_tokens=(\d+)/],
  ['max_running_requests', /\bmax_total_num_tokens=.*, max_running_requests=(\d+)/],
  ['context_length', /\bmax_total_num_tokens=.*, context_len=(\d+)/],
  ['available_gpu_memory_gb', /\bmax_total_num_tokens=.*, available_gpu_mem=([\d.]+) GB/],
];

/**
 * Settings in force that the log tells: the attention backend, the size of the KV cache in tokens, the batch sizes that
 * are recorded, and `max_concurrency`, how many requests of the full context length fit the cache. What the log does not
 * tell is absent.
 */
export function settingsInLog(log: readonly string[]): Readonly<Record<string, string>> {
  const found = new Map<string, string>();
  for (const [name, pattern] of told) {
    if (found.has(name)) continue;
    for (const line of log) {
      const value = pattern.exec(line)?.[1];
      if (value === undefined) continue;
      found.set(name, value);
      break;
    }
  }
  const fit = Number(found.get('kv_cache_tokens')) / Number(found.get('context_length'));
  if (Number.isFinite(fit)) found.set('max_concurrency', fit.toFixed(2));
  return Object.fromEntries(found);
}

/** Of what `/server_info` tells, by the names that it has there. */
export const effective = [
  'dtype',
  'quantization',
  'attention_backend',
  'prefill_attention_backend',
  'decode_attention_backend',
  'kv_cache_dtype',
  'mem_fraction_static',
  'max_running_requests',
  'max_total_tokens',
  'chunked_prefill_size',
  'max_prefill_tokens',
  'context_length',
  'page_size',
  'schedule_policy',
  'schedule_conservativeness',
  'disable_radix_cache',
  'disable_overlap_schedule',
  'disable_cuda_graph',
  'cuda_graph_max_bs',
  'enable_torch_compile',
  'enable_hierarchical_cache',
  'tp_size',
  'pp_size',
  'dp_size',
  'ep_size',
  'speculative_algorithm',
  'speculative_num_steps',
  'speculative_num_draft_tokens',
  'stream_interval',
  'max_total_num_tokens',
  'version',
];
