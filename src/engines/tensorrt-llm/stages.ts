import type { Settings } from '../../records/settings.ts';
import type { DefaultStage, Facts } from '../engine.ts';
import { commonGpu, filled, valuesOf } from '../gpu-stages.ts';

/**
 * What is worth trying first. Graphs are recorded up to 128 requests by default, and larger batches are launched step by
 * step; prompts are not cut by default; the default scheduler never takes more than it can surely finish.
 */
export function defaultStages(facts: Facts): readonly DefaultStage[] {
  const { concurrency, shape } = facts;
  const gpu = commonGpu(facts);
  const formats = [...(gpu?.fp8 ? ['fp8'] : []), ...(gpu?.fp4 ? ['nvfp4'] : [])];
  return filled([
    { name: 'quantization', alternatives: shape?.quantization == null ? valuesOf('quantization', formats) : [] },
    { name: 'parallelism', alternatives: parallelisms(gpu?.count ?? 1, shape?.attentionHeads) },
    {
      name: 'batch',
      alternatives: [
        { chunked_prefill: true },
        { max_batched_tokens: 16384 },
        { chunked_prefill: true, max_batched_tokens: 16384 },
      ],
    },
    {
      name: 'CUDA graphs',
      alternatives: concurrency > 128 ? [{ cuda_graph_max_batch: Math.min(concurrency, 512) }] : [],
    },
    { name: 'scheduling', alternatives: [{ scheduling_policy: 'max_utilization' }] },
    {
      name: 'KV cache',
      alternatives: [...(gpu?.fp8 ? [{ kv_cache_dtype: 'fp8' }] : []), { gpu_memory_fraction: 0.95 }],
    },
  ]);
}

/** Powers of two that divide the GPUs and the heads. */
function parallelisms(gpus: number, heads: number | undefined): readonly Settings[] {
  const numbers: number[] = [];
  for (let n = 2; n <= gpus; n *= 2) if (gpus % n === 0 && (heads ?? 0) % n === 0) numbers.push(n);
  return numbers.map((tensor_parallel) => ({ tensor_parallel }));
}
