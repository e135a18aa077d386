import type { Problem } from '../../kit/errors.ts';
import type { Settings } from '../../records/settings.ts';
import type { Facts } from '../engine.ts';
import { inVersions } from '../mapping.ts';
import { batchProblems, extraArgsProblems, gpuConflicts, type KernelNeeds, noGpu } from '../rules.ts';

/**
 * Floors that vLLM's loader and its attention backends check themselves. FP8 and FP4 weights run below the GPUs that
 * multiply them in hardware: they are unpacked first (Marlin).
 */
const needs: KernelNeeds = {
  quantization: {
    fp8: [{ before: '0.14.0', from: 80 }, { from: 75 }],
    fp8_online: [{ before: '0.14.0', from: 80 }, { from: 75 }],
    nvfp4: [{ before: '0.14.0', from: 80 }, { from: 75 }],
    awq: [{ from: 75 }],
    gptq_int4: [{ from: 60 }],
    gptq_int8: [{ from: 60 }],
  },
  attention: {
    flash_attn: [{ from: 80 }],
    flashinfer: [{ since: '0.25.1', from: 80 }, { from: 75 }],
  },
  fp8Cache: {
    // FlashAttention 3 reads FP8, and runs on Hopper only.
    flash_attn: [{ from: 90, below: 100 }],
    triton_attn: [{ from: 89 }],
    flex_attention: [noGpu],
    // What 0.11.0 falls back to is Triton's kernel; later releases look for a backend that can.
    default: [{ before: '0.11.1', from: 89 }],
  },
};

/** Flags that servetune sets itself: where the server listens and what it serves. */
const ownFlags = ['--host', '--port', '--uds', '--model', '--served-model-name'];

export function conflicts(settings: Settings, facts: Facts): readonly Problem[] {
  return [
    ...gpuConflicts(settings, facts, needs),
    ...batchProblems(settings),
    ...ownProblems(settings, facts),
    ...extraArgsProblems(settings, ownFlags),
  ];
}

/** Combinations that vLLM itself refuses, or in which one setting silently undoes another. */
function ownProblems(settings: Settings, { version }: Facts): Problem[] {
  const problems: Problem[] = [];
  const add = (place: string, message: string, hint: string): void => void problems.push({ place, message, hint });
  const { max_batched_tokens: tokens, context_length: context, speculative_method: method } = settings;

  if (settings.chunked_prefill === false && Number(tokens) < Number(context)) {
    add(
      'max_batched_tokens',
      `without chunked prefill a prompt of ${context} tokens must fit one step of ${tokens}`,
      'raise max_batched_tokens, or leave chunked prefill on',
    );
  }
  if (settings.attention_backend === 'flash_attn' && settings.kv_cache_dtype === 'fp8_e5m2') {
    add('kv_cache_dtype', 'flash_attn reads fp8_e4m3, not fp8_e5m2', 'use fp8, or another attention backend');
  }
  if (settings.cuda_graphs === false && settings.torch_compile === true) {
    add('torch_compile', '--enforce-eager, which cuda_graphs false passes, leaves it out', 'leave one of them out');
  }
  if (method !== undefined && method !== 'mtp' && settings.speculative_tokens === undefined) {
    add('speculative_method', `${method} does not say how many tokens to draft`, 'add speculative_tokens');
  }
  if (version === undefined || !inVersions({ before: '0.14.0' }, version)) return problems;
  if (method === 'draft_model') {
    add('speculative_method', `vLLM ${version} cannot draft with a model of its own`, 'use ngram or eagle3');
  }
  if (settings.async_scheduling === true && method !== undefined) {
    add('async_scheduling', `vLLM ${version} cannot schedule ahead of drafted tokens`, 'leave one of them out');
  }
  if (settings.async_scheduling === true && Number(settings.pipeline_parallel ?? 1) > 1) {
    add('async_scheduling', `vLLM ${version} does not have it with pipeline_parallel`, 'leave one of them out');
  }
  return problems;
}
