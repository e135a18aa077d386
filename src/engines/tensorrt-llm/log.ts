import type { StartPart, Symptom } from '../engine.ts';
import { kernelSymptoms, machineSymptoms, memorySymptom, modelSymptoms, portSymptom } from '../gpu-symptoms.ts';

/** The root cause comes before what wraps it, such as `Executor worker returned error`. */
export const symptoms: readonly Symptom[] = [
  { ...portSymptom, pattern: /Failed to bind socket to |Address already in use/i },
  {
    pattern:
      /No such option|Invalid value for |Got unexpected extra argument|Extra inputs are not permitted|is not a known backend|validation errors? for \w*LlmArgs/,
    fate: 'unsupported_setting',
    hint: 'this version of TensorRT-LLM does not have that flag, key or value',
  },
  {
    pattern: /Unsupported SM version for FP8 block scaling GEMM/,
    fate: 'unsupported_setting',
    hint: 'this GPU cannot compute with FP8 checkpoints: leave quantization out',
  },
  {
    pattern: /^(?:.*\s)?KeyError: '(?:weight|weight_scale|weight_scale_inv)'/,
    fate: 'unsupported_setting',
    hint: 'this version cannot load a checkpoint quantized that way: take another, or leave quantization out',
  },
  {
    pattern:
      /Please don't set both cuda_graph_config|(?:max_draft_len|speculative_model) .*(?:required|must be)|Draft model must be provided/,
    fate: 'unsupported_setting',
    hint: 'these settings do not go together in this version',
  },
  memorySymptom('lower max_running_requests, max_batched_tokens or gpu_memory_fraction, or raise tensor_parallel'),
  {
    pattern: /should not exceed max_num_tokens/,
    fate: 'unsupported_setting',
    hint: 'a prompt is longer than max_batched_tokens: set chunked_prefill, or raise it',
    corrected: () => ({ chunked_prefill: true }),
  },
  {
    pattern: /No GPU devices found on the node/,
    fate: 'start_failed',
    hint: 'the engine sees no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES',
  },
  {
    pattern: /There are not enough slots available|PMIX ERROR|libmpi\S*: cannot open shared object file/,
    fate: 'start_failed',
    hint: 'it starts its workers through Open MPI: install libopenmpi-dev, and allow as many processes as GPUs',
  },
  ...modelSymptoms,
  ...kernelSymptoms,
  ...machineSymptoms,
];

export const startParts: readonly StartPart[] = [
  {
    part: 'loading',
    pattern: /Prefetching [\d.]+\s?GB checkpoint|Loading (?:safetensors |bin )?weights|Use [\d.]+ GB for model weights/,
  },
  { part: 'compiling', pattern: /\[Autotuner\] Autotuning process starts/ },
  { part: 'capturing', pattern: /Creating CUDA graph instances for/ },
];

/**
 * What it decided: `context_length` and `kv_cache_tokens` shrink in silence to what the memory holds. It sizes its cache
 * twice, a small one to measure with first, so the last word of each counts.
 */
export function settingsInLog(log: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const take = (name: string, text: string | undefined): void => {
    if (text !== undefined) found[name] = text;
  };
  for (const line of log) {
    take('attention_backend', /\battn_backend='(\w+)'/.exec(line)?.[1]?.toLowerCase());
    take('kv_cache_dtype', /\bkv_cache_dtype='(\w+)'/.exec(line)?.[1]);
    const cache = /Allocated ([\d.]+) GiB for max tokens in paged KV cache \((\d+)\)/.exec(line);
    take('kv_cache_gib', cache?.[1]);
    take('kv_cache_tokens', cache?.[2]);
    const limits = /\bmax_seq_len=(\d+), max_num_requests=\d+, max_num_tokens=(\d+), max_batch_size=(\d+)/.exec(line);
    take('context_length', limits?.[1]);
    take('max_batched_tokens', limits?.[2]);
    take('max_running_requests', limits?.[3]);
    take('kv_block_size', /Number of tokens per block: (\d+)/.exec(line)?.[1]);
  }
  return found;
}
