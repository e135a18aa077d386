import type { Symptom } from '../engine.ts';
import {
  argumentSymptom,
  kernelSymptoms,
  machineSymptoms,
  memorySymptom,
  modelSymptoms,
  portSymptom,
} from '../gpu-symptoms.ts';

/** How SGLang says what is wrong. `Received sigquit from a child process` is none of these: it follows the cause. */
export const symptoms: readonly Symptom[] = [
  argumentSymptom('SGLang'),
  {
    // The same words are a warning where the user has allowed it.
    pattern: /ValueError: .*is greater than the derived context_length \((\d+)\)/,
    fate: 'unsupported_setting',
    hint: 'the model was not made for so many tokens: lower context_length',
    corrected: ([, most]) => (most === undefined ? undefined : { context_length: Number(most) }),
  },
  {
    pattern: /only supported on (?:Blackwell|Hopper)|FlashAttention v3 Backend requires SM/,
    fate: 'unsupported_setting',
    hint: 'this GPU cannot run that attention backend: use another one',
  },
  {
    pattern: /backend only supports kv-cache-dtype|KV4 .*expects|FA4 backend is only supported for prefill/,
    fate: 'unsupported_setting',
    hint: 'the attention backend cannot do that: use another kv_cache_dtype or attention_backend',
  },
  {
    pattern:
      /are mutually exclusive and cannot be used at the same time|speculative decoding (?:is currently|does) not support/i,
    fate: 'unsupported_setting',
    hint: 'leave one of the two out',
  },
  {
    pattern: /Not enough memory\. Please try to increase --mem-fraction-static|max_running_requests is zero/,
    fate: 'out_of_memory',
    hint: 'raise gpu_memory_fraction or tensor_parallel, or quantize the weights',
  },
  {
    pattern: /Capture cuda graph failed: .*(?:out of memory|OutOfMemory)/i,
    fate: 'out_of_memory',
    hint: 'lower gpu_memory_fraction or cuda_graph_max_batch',
  },
  {
    // The context length is checked before, in other words: here it is the KV cache that is too small.
    pattern: /exceeds the maximum allowed length \(\d+ tokens\)/,
    fate: 'out_of_memory',
    hint: 'the KV cache does not hold one such request: raise gpu_memory_fraction, or quantize weights or KV cache',
  },
  portSymptom,
  ...modelSymptoms,
  ...kernelSymptoms,
  memorySymptom('lower gpu_memory_fraction, max_running_requests or chunked_prefill_size, or raise tensor_parallel'),
  {
    pattern: /No module named '(?:flashinfer|sgl_kernel|aiter)'/,
    fate: 'unsupported_setting',
    hint: 'the kernels of that backend are not installed beside this version',
  },
  {
    pattern: /Capture cuda graph failed/,
    fate: 'start_failed',
    hint: 'lower cuda_graph_max_batch, or try cuda_graphs false',
  },
  {
    pattern: /Watchdog timeout/,
    fate: 'start_failed',
    hint: 'one step took minutes: try another attention_backend; a first start may be compiling kernels (start again)',
  },
  {
    pattern: /Initialization failed\. warmup error/,
    fate: 'start_failed',
    hint: 'its own first request failed: see the lines before it',
  },
  {
    pattern: /Rank \d+ scheduler is dead|Scheduler hit an exception: (?!Traceback)/,
    fate: 'start_failed',
    hint: 'a process that computes died: see the lines before it',
  },
  ...machineSymptoms,
];
