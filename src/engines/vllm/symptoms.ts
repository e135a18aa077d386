import type { Symptom } from '../engine.ts';
import {
  argumentSymptom,
  kernelSymptoms,
  machineSymptoms,
  memorySymptom,
  modelSymptoms,
  portSymptom,
} from '../gpu-symptoms.ts';

/** A whole number in a message as a setting; vLLM prints some of them with decimals. */
const setting =
  (name: string) =>
  ([, value]: RegExpExecArray) =>
    value === undefined ? undefined : { [name]: Math.trunc(Number(value.replaceAll(',', ''))) };

/**
 * How vLLM says what is wrong. `Engine core initialization failed` is none of these: it follows the cause, which another
 * process printed.
 */
export const symptoms: readonly Symptom[] = [
  argumentSymptom('vLLM'),
  {
    pattern: /Unknown attention backend:|Invalid (?:value|attention backend).*VLLM_ATTENTION_BACKEND/,
    fate: 'unsupported_setting',
    hint: 'this version of vLLM does not have that attention backend',
  },
  {
    pattern: /is not valid for this configuration|does not support fp8 kv-cache|FP8 KV cache not yet supported/i,
    fate: 'unsupported_setting',
    hint: 'the attention backend cannot do that on this GPU, or with this model or KV cache: use another one',
  },
  {
    pattern: /must be divisible by tensor parallel size/,
    fate: 'unsupported_setting',
    hint: 'use a tensor_parallel that divides the attention heads of the model',
  },
  {
    // The same words are a warning where the user has allowed it.
    pattern: /Value ?[Ee]rror[,:] .*is greater than the derived max_model_len \(\w+=([\d.]+)/,
    fate: 'unsupported_setting',
    hint: 'the model was not made for so many tokens: lower context_length',
    corrected: setting('context_length'),
  },
  {
    pattern: /must be greater than or equal to max_num_seqs(?: \((\d+)\))?/,
    fate: 'unsupported_setting',
    hint: 'raise max_batched_tokens, or lower max_running_requests',
    corrected: setting('max_batched_tokens'),
  },
  {
    pattern: /max_num_batched_tokens \(\d+\) is smaller than max_model_len(?: \((\d+)\))?/,
    fate: 'unsupported_setting',
    hint: 'raise max_batched_tokens, lower context_length, or leave chunked prefill on',
    corrected: setting('max_batched_tokens'),
  },
  {
    pattern: /Capture size larger than (\d+) is not supported for full cuda graph/,
    fate: 'unsupported_setting',
    hint: 'lower cuda_graph_max_batch',
    corrected: setting('cuda_graph_max_batch'),
  },
  {
    pattern: /Async scheduling is not (?:supported|compatible) with|async scheduling does not support/i,
    fate: 'unsupported_setting',
    hint: 'leave async_scheduling out, or what it does not go with',
  },
  {
    pattern: /Draft model speculative decoding is not supported yet|num_speculative_tokens must be provided/,
    fate: 'unsupported_setting',
    hint: 'use another speculative_method, and say speculative_tokens',
  },
  {
    pattern: /the estimated maximum model length is ([\d,]+)/,
    fate: 'out_of_memory',
    hint: 'lower context_length, or raise gpu_memory_fraction',
    corrected: setting('context_length'),
  },
  {
    pattern: /No available memory for the cache blocks/,
    fate: 'out_of_memory',
    hint: 'raise gpu_memory_fraction or tensor_parallel, or quantize the weights',
  },
  {
    pattern: /larger than the available KV cache memory|KV cache is needed/,
    fate: 'out_of_memory',
    hint: 'lower context_length, or raise gpu_memory_fraction',
  },
  {
    pattern: /is less than desired GPU memory utilization/,
    fate: 'out_of_memory',
    hint: 'something else holds GPU memory: end it, or lower gpu_memory_fraction',
  },
  portSymptom,
  ...modelSymptoms,
  ...kernelSymptoms,
  memorySymptom('lower gpu_memory_fraction, max_running_requests or max_batched_tokens, or raise tensor_parallel'),
  ...machineSymptoms,
];
