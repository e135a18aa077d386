import { embedded } from '../../src/engines/embedded.ts';
import { engines } from '../../src/engines/table.ts';
import { vllm } from '../../src/engines/vllm.ts';
import { engineContract, type SampleSettings } from '../contracts/engine.ts';

const samples: Record<string, SampleSettings> = {
  [embedded.name]: {
    quantization: 'q8_0',
    attention_backend: 'plain',
    threads: 1,
    max_running_requests: 7,
    max_batched_tokens: 333,
    kv_cache_dtype: 'q8_0',
    context_length: 777,
  },
  [vllm.name]: {
    quantization: 'fp8',
    attention_backend: 'flashinfer',
    kv_cache_dtype: 'fp8',
    max_running_requests: 77,
    max_batched_tokens: 7777,
    context_length: 777,
    gpu_memory_fraction: 0.77,
    prefix_caching: false,
    chunked_prefill: false,
    tensor_parallel: 2,
    cuda_graphs: false,
  },
};

for (const engine of engines) engineContract(engine, samples[engine.name] ?? {});
