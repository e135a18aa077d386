import type { Problem } from '../../kit/errors.ts';
import type { Settings } from '../../records/settings.ts';
import type { Facts } from '../engine.ts';
import { extraArgs, extraArgsProblems, gpuConflicts, type KernelNeeds } from '../rules.ts';

/** Floors that SGLang's loader and its attention backends check themselves. */
const needs: KernelNeeds = {
  quantization: {
    fp8: [{ from: 80 }],
    fp8_online: [{ from: 80 }],
    awq: [{ from: 80 }],
    gptq_int4: [{ from: 60 }],
    gptq_int8: [{ from: 60 }],
    nvfp4: [{ from: 100 }],
  },
  attention: {
    fa3: [{ from: 80, below: 100 }],
    flashinfer: [{ from: 75 }],
    // For prompts; answers alone it could decode on other GPUs.
    trtllm_mha: [{ from: 100, below: 110 }],
    trtllm_mla: [{ from: 100 }],
  },
};

/** Flags that servetune sets itself: where the server listens and what it serves. */
const ownFlags = ['--host', '--port', '--model', '--model-path', '--served-model-name'];

export function conflicts(settings: Settings, facts: Facts): readonly Problem[] {
  return [
    ...gpuConflicts(withoutSharedCopies(settings), facts, needs),
    ...ownProblems(settings),
    ...extraArgsProblems(settings, ownFlags),
  ];
}

/** With this flag the copies are of attention only, and share the GPUs of `tensor_parallel`. */
function withoutSharedCopies(settings: Settings): Settings {
  if (!extraArgs(settings).includes('--enable-dp-attention')) return settings;
  const { data_parallel: _, ...others } = settings;
  return others;
}

/** Combinations that SGLang itself refuses, or in which one setting silently undoes another. */
function ownProblems(settings: Settings): Problem[] {
  const problems: Problem[] = [];
  const add = (place: string, message: string, hint: string): void => void problems.push({ place, message, hint });
  const backend = settings.attention_backend;
  if (backend === 'fa3' && settings.kv_cache_dtype === 'fp8_e5m2') {
    add('kv_cache_dtype', 'SGLang takes triton instead of fa3 with fp8_e5m2, without a word', 'use fp8_e4m3');
  }
  if (backend === 'trtllm_mla' && settings.kv_cache_dtype === 'fp8_e5m2') {
    add('kv_cache_dtype', 'trtllm_mla reads fp8_e4m3, not fp8_e5m2', 'use fp8_e4m3, or another attention backend');
  }
  if (settings.prefix_caching === false && settings.kv_offload_gib !== undefined) {
    add('kv_offload_gib', 'only cached prefixes are kept on the host', 'leave prefix_caching on, or leave it out');
  }
  if ((backend === 'torch_native' || backend === 'flex_attention') && settings.cuda_graph_max_batch !== undefined) {
    add('cuda_graph_max_batch', `nothing is recorded with attention backend ${backend}`, 'leave one of them out');
  }
  if (backend === 'flex_attention' && settings.speculative_method !== undefined) {
    add('speculative_method', 'flex_attention cannot verify drafted tokens', 'use another attention backend');
  }
  return problems;
}
