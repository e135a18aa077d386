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
  const has = (since: string): boolean => inVersions({ since }, facts.version);
  const small = gpu.memoryGiB < 70 || gpu.a100;
  return filled([
    parallelStage(gpu, facts),
    quantizationStage(gpu, facts),
    { name: 'attention backend', alternatives: valuesOf('attention_backend', attentionFor(gpu)) },
    {
      name: 'batch',
      alternatives: [
        // Of what vLLM takes by itself, 2048 on small GPUs and 8192 on large ones, twice and four times.
        ...valuesOf('max_batched_tokens', small ? [4096, 8192] : [16384, 32768]),
        ...sequencesFor(facts.concurrency, small ? 256 : 1024),
      ],
    },
    {
      name: 'scheduling',
      // On by default later.
      alternatives: facts.version === undefined || has('0.14.0') ? [] : [{ async_scheduling: true }],
    },
    { name: 'KV cache', alternatives: gpu.fp8 ? [{ kv_cache_dtype: 'fp8' }] : [] },
    {
      name: 'CUDA graphs',
      // Recorded are batches of up to 512; with full graphs FlashAttention 3 allows 992.
      alternatives: facts.concurrency > 512 ? [{ cuda_graph_max_batch: 992 }] : [],
    },
    {
      name: 'compilation',
      alternatives: has('0.17.0') ? valuesOf('performance_mode', ['throughput', 'interactivity']) : [],
    },
  ]);
}

/** Backends that run on such GPUs, without the one that vLLM takes by itself. */
function attentionFor({ capability }: CommonGpu): readonly string[] {
  if (capability === null) return ['triton_attn'];
  if (capability < 80) return ['triton_attn'];
  if (capability >= 100 && capability < 120) return ['flash_attn', 'triton_attn'];
  return ['flashinfer', 'triton_attn'];
}

/** More sequences at a time where requests would wait otherwise. */
const sequencesFor = (concurrency: number, byDefault: number): readonly { max_running_requests: number }[] =>
  concurrency > byDefault ? [{ max_running_requests: Math.min(2048, powerOfTwo(concurrency)) }] : [];
