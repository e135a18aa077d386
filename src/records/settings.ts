/** Value of one knob, as it stands in YAML. */
export type SettingValue = string | number | boolean;

/** Settings by engine-neutral name; absent means the engine's own default. */
export type Settings = Readonly<Record<string, SettingValue>>;

/**
 * The engine-neutral names. An engine maps those that it has to its own flags (`engines/`), with its own values;
 * nothing else may name a setting.
 */
export const settingNames = {
  quantization: 'Number format of the weights',
  attention_backend: 'Implementation of attention',
  kv_cache_dtype: 'Number format of the KV cache',
  max_running_requests: 'Most sequences decoded together',
  max_batched_tokens: 'Most tokens in one step of the engine',
  dtype: 'Number format of what is computed',
  context_length: 'Longest prompt and answer together, tokens',
  gpu_memory_fraction: 'Share of GPU memory that the engine may claim',
  kv_block_size: 'Tokens in one block of the KV cache',
  kv_offload_gib: 'Memory of the host for KV cache that does not fit the GPU, GiB',
  prefix_caching: 'Reuse the KV cache of equal prefixes',
  chunked_prefill: 'Prefill long prompts in pieces, between decode steps',
  chunked_prefill_size: 'Most tokens of such a piece',
  scheduling_policy: 'Order in which waiting requests are taken',
  scheduling_conservativeness: 'How much room the scheduler keeps for answers that go on',
  async_scheduling: 'Prepare the next step while the GPU computes this one',
  tensor_parallel: 'GPUs that share one copy of the model',
  pipeline_parallel: 'GPUs, or groups of them, that hold layers one after the other',
  data_parallel: 'Copies of the model behind one server',
  expert_parallel: 'Experts are spread over the GPUs instead of being cut',
  cuda_graphs: 'Replay recorded GPU work instead of launching it step by step',
  cuda_graph_max_batch: 'Largest batch for which GPU work is recorded',
  torch_compile: 'Compile the model with torch.compile',
  performance_mode: 'What the engine’s own choices aim at',
  speculative_method: 'How tokens are drafted: ngram, eagle3, mtp, ...',
  speculative_model: 'The model that drafts them',
  speculative_tokens: 'Tokens that are drafted at a time',
  api_servers: 'Processes that speak HTTP and tokenize',
  stream_interval: 'Tokens between two events of a stream',
  threads: 'CPU threads that compute',
  gpu_layers: 'Layers that are computed on the GPU',
  extra_args: 'Flags passed on as they stand, as one would type them',
} as const satisfies Record<string, string>;

export type SettingName = keyof typeof settingNames;

/** One engine with its settings: exactly one launch command. */
export interface Configuration {
  /** Name in `engines/table.ts`. */
  readonly engine: string;
  /** The engine's version; absent in a study file means "what is installed", filled in when the run starts. */
  readonly version?: string;
  readonly settings: Settings;
}

/** `vllm@0.11.0`, or the bare name while the version is not known. */
export const engineLabel = (c: Pick<Configuration, 'engine' | 'version'>): string =>
  c.version === undefined ? c.engine : `${c.engine}@${c.version}`;

/** A text that is equal for equal configurations and for no others. */
export function configurationKey(c: Configuration): string {
  const settings = Object.entries(c.settings).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([engineLabel(c), settings]);
}

/** For people: `embedded@3.21.1 quantization=q8_0 threads=1`. */
export const configurationLabel = (c: Configuration): string =>
  [engineLabel(c), ...Object.entries(c.settings).map(([name, value]) => `${name}=${value}`)].join(' ');
