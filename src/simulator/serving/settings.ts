import type { Settings } from '../../records/settings.ts';
import type { Deployment, Simulable } from '../deployment.ts';

/** The settings in force by engine-neutral name: those given, and what the simulation makes of the rest. */
export function settingsInForce(
  { configuration, shape }: Deployment,
  { spec, kvDtype, precision, tensorParallel, replicas }: Simulable,
  maxModelLen: number,
): Readonly<Record<string, string>> {
  const { settings } = configuration;
  const { options } = spec;
  const own: Settings = {
    quantization: precision,
    kv_cache_dtype: kvDtype,
    max_running_requests: options.maxRunningRequests,
    max_batched_tokens: options.maxBatchedTokens,
    kv_block_size: options.blockTokens,
    chunked_prefill: options.chunkedPrefill,
    prefix_caching: settings.prefix_caching !== false,
    context_length: Math.min(maxModelLen, shape.maxPositions),
    tensor_parallel: tensorParallel,
    data_parallel: replicas,
    kv_cache_tokens: options.kvTokens,
  };
  return Object.fromEntries(Object.entries({ ...settings, ...own }).map(([name, value]) => [name, String(value)]));
}

/** vLLM's `/server_info`: its configuration as one text, of which the simulation knows these parts. */
export function vllmServerInfo(
  model: string,
  { settings }: Deployment['configuration'],
  force: Readonly<Record<string, string>>,
): object {
  const python = (on: boolean): string => (on ? 'True' : 'False');
  const parts = {
    model: `'${model}'`,
    speculative_config: settings.speculative_method === undefined ? 'None' : String(settings.speculative_method),
    dtype: 'torch.bfloat16',
    max_seq_len: force.context_length,
    load_format: 'simulated',
    tensor_parallel_size: force.tensor_parallel,
    pipeline_parallel_size: String(settings.pipeline_parallel ?? 1),
    data_parallel_size: force.data_parallel,
    quantization: force.quantization === 'bf16' ? 'None' : force.quantization,
    enforce_eager: python(settings.cuda_graphs === false),
    kv_cache_dtype: force.kv_cache_dtype === 'bf16' ? 'auto' : force.kv_cache_dtype,
    enable_prefix_caching: python(force.prefix_caching === 'true'),
    enable_chunked_prefill: python(force.chunked_prefill === 'true'),
  };
  const text = Object.entries(parts).map(([name, value]) => `${name}=${value}`);
  return { vllm_config: text.join(', ') };
}

/** SGLang's `/server_info`, as far as the simulation knows it. */
export function sglangServerInfo(
  model: string,
  { settings }: Deployment['configuration'],
  force: Readonly<Record<string, string>>,
  memoryFraction: number | null,
): object {
  return {
    model_path: model,
    load_format: 'simulated',
    dtype: 'bfloat16',
    quantization: force.quantization === 'bf16' ? null : force.quantization,
    kv_cache_dtype: force.kv_cache_dtype === 'bf16' ? 'auto' : force.kv_cache_dtype,
    ...(memoryFraction === null ? {} : { mem_fraction_static: memoryFraction }),
    max_running_requests: Number(force.max_running_requests),
    chunked_prefill_size: Number(force.max_batched_tokens),
    context_length: Number(force.context_length),
    page_size: Number(force.kv_block_size),
    schedule_conservativeness: Number(settings.scheduling_conservativeness ?? 1),
    disable_radix_cache: force.prefix_caching !== 'true',
    disable_cuda_graph: settings.cuda_graphs === false,
    tp_size: Number(force.tensor_parallel),
    pp_size: Number(settings.pipeline_parallel ?? 1),
    dp_size: Number(force.data_parallel),
    speculative_algorithm: settings.speculative_method ?? null,
    speculative_num_draft_tokens: settings.speculative_tokens ?? null,
    max_total_num_tokens: Number(force.kv_cache_tokens),
  };
}
