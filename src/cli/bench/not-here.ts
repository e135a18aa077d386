import { z } from 'zod';

/**
 * Options of `vllm bench serve` that are taken and change nothing here. Moving a line between this table, `refused` and
 * the tables of options that work is all it takes to change what becomes of a flag.
 */
export const withoutEffect = {
  trust_remote_code: idle(flag(), 'code from a model’s repository is never run here'),
  tokenizer_mode: idle(
    z.string().default('auto'),
    'there is one tokenizer, that of tokenizer.json: auto, hf and slow are it',
  ),
  plot_timeline: idle(flag(), 'nothing is drawn; --records keeps the times of every request'),
  timeline_itl_thresholds: idle(
    z.string().default('25,50'),
    'nothing is drawn; --records keeps the times of every request',
  ),
  plot_dataset_stats: idle(flag(), 'nothing is drawn; `servetune dataset` shows the lengths'),
} as const;

/**
 * Options of `vllm bench serve` that would change the load or the figures and are not here. Their defaults are taken;
 * anything else is refused with the reason and what to do instead.
 */
export const refused = {
  use_beam_search: refuse(flag(), 'beam search is not measured', 'leave it out: vLLM reads the flag and ignores it'),
  probe_request_rate: refuse(
    z.number().min(0).default(0),
    'there are no probes beside the load',
    'leave it out, or run a second `bench serve` with --request-rate at the same time',
  ),
  random_batch_size: refuse(
    z.int().min(1).default(1),
    'a request holds one text',
    'use 1; raise --num-prompts for as many texts',
  ),
  common_prefix_len: refuse(
    z.int().min(0).optional(),
    'it is another name for the shared prefix',
    'use --random-prefix-len',
  ),
  config: refuse(
    z.string().optional(),
    'options come from the command line only; vLLM’s own `bench serve` fails on it as well',
    'write the options out',
  ),
  no_reranker: refuse(flag(), 'reranking is not measured', 'leave it out'),
  enable_multimodal_chat: refuse(flag(), 'requests are text only', 'leave it out'),
  custom_ensure_client_side_data: refuse(flag(), 'requests are text only', 'leave it out'),
  random_mm_base_items_per_request: refuse(z.int().default(1), 'requests are text only', 'leave it out'),
  random_mm_num_mm_items_range_ratio: refuse(z.number().default(0), 'requests are text only', 'leave it out'),
  random_mm_limit_mm_per_prompt: refuse(
    z.string().default('{"image": 255, "video": 1}'),
    'requests are text only',
    'leave it out',
    ['{"image": 255, "video": 0}'],
  ),
  random_mm_bucket_config: refuse(
    z.string().default('{(256, 256, 1): 0.5, (720, 1280, 1): 0.5, (720, 1280, 16): 0.0}'),
    'requests are text only',
    'leave it out',
  ),
  asr_min_audio_len_sec: refuse(z.number().default(0), 'speech is not measured', 'leave it out'),
  asr_max_audio_len_sec: refuse(
    z.union([z.literal('inf'), z.number()]).default('inf'),
    'speech is not measured',
    'leave it out',
  ),
  hf_subset: refuse(z.string().optional(), 'nothing is downloaded from Hugging Face', hfFile()),
  hf_split: refuse(z.string().optional(), 'nothing is downloaded from Hugging Face', hfFile()),
  bfcl_categories: refuse(z.string().optional(), 'the BFCL dataset is not here', fromFile()),
  blazedit_min_distance: refuse(z.number().default(0), 'the blazedit dataset is not here', fromFile()),
  blazedit_max_distance: refuse(z.number().default(1), 'the blazedit dataset is not here', fromFile()),
  spec_bench_output_len: refuse(z.int().default(256), 'the Spec-Bench dataset is not here', fromFile()),
  spec_bench_category: refuse(z.string().optional(), 'the Spec-Bench dataset is not here', fromFile()),
  speed_bench_dataset_subset: refuse(z.string().default('qualitative'), 'SPEED-Bench is not here', fromFile()),
  speed_bench_output_len: refuse(z.int().default(4096), 'SPEED-Bench is not here', fromFile()),
  speed_bench_category: refuse(z.string().optional(), 'SPEED-Bench is not here', fromFile()),
} as const;

/** Values of options that work otherwise: what vLLM takes and servetune does not, and why. */
export const refusedValues = {
  backend: {
    'openai-audio': ['speech is not measured', 'use openai-chat for text'],
    'openai-embeddings-chat': ['embeddings are measured by text only', 'use openai-embeddings'],
    'openai-embeddings-clip': ['requests are text only', 'use openai-embeddings'],
    'openai-embeddings-vlm2vec': ['requests are text only', 'use openai-embeddings'],
    'infinity-embeddings': ['Infinity’s own API is not spoken', 'use openai-embeddings, which Infinity serves too'],
    'infinity-embeddings-clip': ['requests are text only', 'use openai-embeddings'],
    'vllm-pooling': ['pooling is measured through embeddings only', 'use openai-embeddings'],
    'vllm-rerank': ['reranking is not measured', 'use openai-embeddings'],
  },
  dataset_name: {
    'random-mm': ['requests are text only', 'use random'],
    'random-rerank': ['reranking is not measured', 'use random'],
    custom_audio: ['requests are text only', 'use custom'],
    custom_image: ['requests are text only', 'use custom'],
    custom_mm: ['requests are text only', 'use custom'],
    spec_bench: ['the Spec-Bench dataset is not here', fromFile()],
    speed_bench: ['SPEED-Bench is not here', fromFile()],
    'txt-slices': ['slices of a text are not here', fromFile()],
  },
  tokenizer_mode: {
    mistral: ['mistral_common is a Python library', 'leave it out and give a tokenizer.json with --tokenizer'],
    custom: ['tokenizers are not plugged in', 'leave it out and give a tokenizer.json with --tokenizer'],
    deepseek_v32: ['its chat template is Python code', 'leave it out and give a tokenizer.json with --tokenizer'],
  },
} as const satisfies Record<string, Record<string, readonly [reason: string, remedy: string]>>;

/** Options that vLLM v0.11.0 does not have; there it ends with an error. */
export const newerThanV0110: readonly string[] = [
  'input_len',
  'output_len',
  'probe_request_rate',
  'num_warmups',
  'self_timed',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'lora_assignment',
  'extra_body',
  'chat_template_kwargs',
  'skip_tokenizer_init',
  'insecure',
  'plot_timeline',
  'timeline_itl_thresholds',
  'plot_dataset_stats',
  'disable_shuffle',
  'timed_trace_chunk_hash_size',
  'timed_trace_sec_multiplier',
  'timed_trace_label_timestamp',
  'timed_trace_label_input_length',
  'timed_trace_label_output_length',
  'timed_trace_label_hash_ids',
];

interface Idle<S extends z.ZodType> {
  readonly schema: S;
  /** Why it can change nothing, a clause. */
  readonly reason: string;
}

interface Refused<S extends z.ZodType> extends Idle<S> {
  readonly remedy: string;
  /** Values that are as good as the default: that of other versions. */
  readonly alike: readonly string[];
}

function idle<S extends z.ZodType>(schema: S, reason: string): Idle<S> {
  return { schema: schema.describe(capital(reason)), reason };
}

function refuse<S extends z.ZodType>(
  schema: S,
  reason: string,
  remedy: string,
  alike: readonly string[] = [],
): Refused<S> {
  return { schema: schema.describe(`${capital(reason)}; ${remedy}`), reason, remedy, alike };
}

function flag() {
  return z.boolean().default(false);
}

function fromFile(): string {
  return 'write the prompts to a file and use --dataset-name custom';
}

function hfFile(): string {
  return 'download that part and give its file with --dataset-path';
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The schemas of a table. */
export const schemasOf = <T extends Record<string, { readonly schema: z.ZodType }>>(table: T) =>
  Object.fromEntries(Object.entries(table).map(([key, { schema }]) => [key, schema])) as {
    [K in keyof T]: T[K]['schema'];
  };
