import type { Counters } from '../../records/counters.ts';
import type { CompileCachePatterns, StartPart } from '../engine.ts';
import { attentionBackends } from './settings.ts';

/** Names of 0.11 and of now; counters carry `_total` in what is served, whatever the sources call them. */
export const counters: Counters = {
  format: 'prometheus',
  path: '/metrics',
  names: {
    running: ['vllm:num_requests_running'],
    waiting: ['vllm:num_requests_waiting'],
    kvUseShare: ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'],
    preemptions: ['vllm:num_preemptions_total'],
    prefixQueries: ['vllm:prefix_cache_queries_total', 'vllm:gpu_prefix_cache_queries_total'],
    prefixHits: ['vllm:prefix_cache_hits_total', 'vllm:gpu_prefix_cache_hits_total'],
    draftTokens: ['vllm:spec_decode_num_draft_tokens_total'],
    acceptedTokens: ['vllm:spec_decode_num_accepted_tokens_total'],
  },
};

/**
 * Compiling begins as soon as the weights are there, long before its own first line; without torch.compile that part is
 * the run which measures memory. Between the KV cache and the recording, and after it, kernels are warmed up.
 */
export const startParts: readonly StartPart[] = [
  { part: 'loading', pattern: /Starting to load model|Loading model from scratch/ },
  { part: 'compiling', pattern: /Model loading took/ },
  { part: 'capturing', pattern: /Capturing CUDA graphs/ },
  { part: 'warming up', pattern: /Available KV cache memory|Graph capturing finished/ },
];

/** Words of 0.11 (`for dynamic shape`) and of now (`for compile range`). A start that finds only some graphs compiles the others. */
export const compileCache: CompileCachePatterns = {
  cold: /Cache the graph (?:of|for) |Compiling a graph for /,
  warm: /Directly load (?:the compiled graph|AOT compilation)/,
};

/** How 0.11.0 called the backends in its log. */
const oldNames: Readonly<Record<string, string>> = {
  'flash attention': 'flash_attn',
  triton: 'triton_attn',
  flexattention: 'flex_attention',
  'flashattention mla': 'flash_attn_mla',
  'flashinfer mla': 'flashinfer_mla',
  'cutlass mla': 'cutlass_mla',
  'triton mla': 'triton_mla',
};

/** What stands in one line of the log, by the setting or fact that it tells. */
const told: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['context_length', /Using max model len (\d+)/],
  ['max_batched_tokens', /Chunked prefill is enabled with max_num_batched_tokens=(\d+)/],
  ['async_scheduling', /Asynchronous scheduling is (enabled|disabled)/],
  ['flash_attention_version', /Using FlashAttention version (\d+)/],
  ['cuda_graph_sizes', /cudagraph_capture_sizes['"]: ?\[([\d, ]*)\]/],
  ['kv_cache_gib', /Available KV cache memory: ([\d.]+) GiB/],
  ['kv_cache_tokens', /GPU KV cache size: ([\d,]+) tokens/],
  ['max_concurrency', /Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x/],
];

/**
 * Settings in force that only the log tells: the attention backend by its setting's name, the size of the KV cache in
 * tokens and GiB, and how many requests of the full context length fit it. What the log does not tell is absent.
 */
export function settingsInLog(log: readonly string[]): Readonly<Record<string, string>> {
  const found = new Map<string, string>();
  for (const line of log) {
    const backend = found.has('attention_backend') ? undefined : backendIn(line);
    if (backend !== undefined) found.set('attention_backend', backend);
    for (const [name, pattern] of told) {
      const value = found.has(name) ? undefined : pattern.exec(line)?.[1];
      if (value !== undefined) found.set(name, name === 'cuda_graph_sizes' ? value : value.replaceAll(',', ''));
    }
  }
  return Object.fromEntries(found);
}

/** Other parts of vLLM choose backends too, so only the names of attention backends count. */
function backendIn(line: string): string | undefined {
  const [, said] = /Using (?:AttentionBackendEnum\.)?([\w ]+?)(?: attention)? backend\b/.exec(line) ?? [];
  const name = said?.toLowerCase() ?? '';
  return oldNames[name] ?? attentionBackends.find((backend) => backend === name);
}

/** Of what `/server_info` tells, by the names that it has there. */
const effective = [
  'dtype',
  'max_seq_len',
  'tensor_parallel_size',
  'pipeline_parallel_size',
  'data_parallel_size',
  'quantization',
  'enforce_eager',
  'kv_cache_dtype',
  'enable_prefix_caching',
  'enable_chunked_prefill',
  'chunked_prefill_enabled',
  'speculative_config',
];

/** The settings in the text of a configuration, as `/server_info` has it: `dtype=torch.bfloat16, max_seq_len=40960, ...`. */
export function settingsInText(text: string): Readonly<Record<string, string>> {
  const sizes = /cudagraph_capture_sizes['"]: ?\[([\d, ]*)\]/.exec(text)?.[1];
  const mode = /cudagraph_mode['"]: ?<?(?:CUDAGraphMode\.)?"?(\w+)/.exec(text)?.[1];
  const found = effective.flatMap((name): [string, string][] => {
    const value = new RegExp(`(?:^|, )${name}=([^,()]+)`).exec(text)?.[1];
    return value === undefined ? [] : [[name, value.trim()]];
  });
  return {
    ...Object.fromEntries(found),
    ...(mode === undefined ? {} : { cudagraph_mode: mode }),
    ...(sizes === undefined ? {} : { cudagraph_capture_sizes: sizes }),
  };
}
