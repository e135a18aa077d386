import type { DefaultStage, Facts } from '../engine.ts';
import {
  type CommonGpu,
  commonGpu,
  filled,
  parallelStage,
  powerOfTwo,
  quantizationStage,
  valuesOf,
} from '../gpu-stages.ts';
import { inVersions } from '../mapping.ts';

/**
 * What is worth trying, in the order in which it is decided. The engine's own default is always there to compare with,
 * so no stage names it; and nothing is named that the GPUs or the version cannot do. Nothing without a GPU.
 */
export function defaultStages(facts: Facts): readonly DefaultStage[] {
  const gpu = commonGpu(facts);
  if (gpu === undefined) return [];
  // Below 60 GiB SGLang takes prompts in pieces of 4096 at most, and records batches of up to 32; from there on 8192 and 256.
  const large = gpu.memoryGiB >= 60;
  const recorded = large ? 256 : 32;
  return filled([
    parallelStage(gpu, facts),
    quantizationStage(gpu, facts),
    { name: 'attention backend', alternatives: valuesOf('attention_backend', attentionFor(gpu, facts)) },
    {
      name: 'batch',
      alternatives: large
        ? [{ chunked_prefill_size: 16384, max_batched_tokens: 16384 }, { chunked_prefill_size: 4096 }]
        : [{ chunked_prefill_size: 8192 }, { chunked_prefill_size: 2048 }],
    },
    {
      name: 'scheduling',
      alternatives: [{ scheduling_conservativeness: 0.3 }, { scheduling_policy: 'lpm' }],
    },
    { name: 'KV cache', alternatives: gpu.fp8 ? [{ kv_cache_dtype: 'fp8_e4m3' }] : [] },
    {
      name: 'CUDA graphs',
      alternatives:
        facts.concurrency > recorded ? [{ cuda_graph_max_batch: Math.min(512, powerOfTwo(facts.concurrency)) }] : [],
    },
    { name: 'compilation', alternatives: [{ torch_compile: true }] },
  ]);
}

/** Backends that run on such GPUs, without the one that SGLang takes by itself for models with ordinary attention. */
function attentionFor({ capability }: CommonGpu, { version }: Facts): readonly string[] {
  if (capability === null) return ['triton'];
  if (capability >= 90 && capability < 100) return ['flashinfer', 'triton'];
  if (capability >= 100 && capability < 110) {
    return inVersions({ since: '0.5.11' }, version) ? ['flashinfer', 'triton'] : ['trtllm_mha', 'triton'];
  }
  return capability >= 80 && capability < 90 ? ['fa3', 'triton'] : ['triton'];
}
