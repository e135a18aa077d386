import { z } from 'zod';

const length = (most = 1_000_000) => z.int().min(1).max(most);
const shared = () => z.int().min(0).max(1_000_000);
const ratio = () => z.number().min(0).lt(1);

/** Every value of `--dataset-name`, in the order of `--help`. */
export const datasetNames = [
  'random',
  'sharegpt',
  'sonnet',
  'custom',
  'prefix_repetition',
  'burstgpt',
  'hf',
  'timed_trace',
] as const;
export type DatasetName = (typeof datasetNames)[number];

/**
 * Where prompts come from. Names and defaults are those of `vllm bench serve`, with `_` for `-`; lengths are in tokens.
 */
export const datasetOptions = {
  dataset_name: z.enum(datasetNames).default('random').describe('Where the prompts come from'),
  dataset_path: z
    .string()
    .min(1)
    .optional()
    .describe('File of the dataset; sharegpt without one takes the file that `servetune dataset fetch sharegpt` got'),
  num_prompts: z.int().min(1).max(10_000_000).default(1000).describe('Requests to send'),
  seed: z.int().min(0).max(4_294_967_295).default(0).describe('Seed of prompts and arrivals'),
  no_oversample: z
    .boolean()
    .default(false)
    .describe('Send fewer requests when the dataset has fewer, instead of repeating some'),
  disable_shuffle: z.boolean().default(false).describe('Take the rows of a file in their order'),
  skip_chat_template: z
    .boolean()
    .default(false)
    .describe(
      'Send the rows of custom, hf and sonnet as they are to a completions endpoint, without the chat template',
    ),
  chat_template_kwargs: z
    .record(z.string(), z.json())
    .optional()
    .describe('Variables of the chat template of custom, hf and sonnet, as JSON: {"enable_thinking": false}'),

  random_input_len: length().default(1024).describe('random: prompt tokens, before the chat template'),
  random_output_len: length().default(128).describe('random: output tokens'),
  random_range_ratio: z
    .union([ratio(), z.strictObject({ input: ratio(), output: ratio() })])
    .default(0)
    .describe('random: spread r of the lengths, each drawn from [len*(1-r), len*(1+r)]; or {"input": r, "output": r}'),
  random_prefix_len: shared().default(0).describe('random: prompt tokens that all requests share, in front'),

  sharegpt_output_len: length().optional().describe('sharegpt: output tokens; default: as long as the recorded answer'),

  sonnet_input_len: length().default(550).describe('sonnet: prompt tokens'),
  sonnet_output_len: length().default(150).describe('sonnet: output tokens'),
  sonnet_prefix_len: shared().default(200).describe('sonnet: prompt tokens that all requests share'),

  custom_output_len: z
    .union([length(), z.literal(-1)])
    .default(256)
    .describe('custom: output tokens; -1 takes each row’s output_tokens'),

  prefix_repetition_prefix_len: shared().default(256).describe('prefix_repetition: tokens of each shared prefix'),
  prefix_repetition_suffix_len: length().default(256).describe('prefix_repetition: tokens after the prefix'),
  prefix_repetition_num_prefixes: length().default(10).describe('prefix_repetition: different prefixes'),
  prefix_repetition_output_len: length().default(128).describe('prefix_repetition: output tokens'),

  hf_output_len: length().optional().describe('hf: output tokens; default: as long as the recorded answer'),
  hf_name: z
    .string()
    .min(1)
    .optional()
    .describe('hf: name on the hub of the data set in the file, to make prompts as vLLM makes them of that one'),
  no_stream: z.boolean().default(false).describe('hf: shuffle the whole file, not the thousand rows read ahead'),

  timed_trace_chunk_hash_size: length().default(16).describe('timed_trace: prompt tokens that one hash id stands for'),
  timed_trace_sec_multiplier: z
    .number()
    .positive()
    .default(1)
    .describe('timed_trace: seconds of one unit of the timestamps, so 0.001 for milliseconds'),
  timed_trace_label_timestamp: z.string().default('timestamp').describe('timed_trace: key of the send time'),
  timed_trace_label_input_length: z.string().default('input_length').describe('timed_trace: key of the prompt length'),
  timed_trace_label_output_length: z
    .string()
    .default('output_length')
    .describe('timed_trace: key of the output length'),
  timed_trace_label_hash_ids: z.string().default('hash_ids').describe('timed_trace: key of the block hashes'),
  self_timed: z
    .boolean()
    .default(true)
    .describe('timed_trace: send at the times of the trace, not at the request rate'),
} as const;

const datasetShape = z.object(datasetOptions);
export type DatasetOptions = z.infer<typeof datasetShape>;

/** The spread of random lengths, prompt and answer apart. */
export const rangeRatios = ({ random_range_ratio: r }: Pick<DatasetOptions, 'random_range_ratio'>) =>
  typeof r === 'number' ? { input: r, output: r } : r;

/** Lengths in tokens that a workload asks for, the shared prefix included; null where the file decides. */
export interface NominalLengths {
  readonly input: number | null;
  readonly output: number | null;
  /** Relative spread to both sides. */
  readonly inputSpread: number;
  readonly outputSpread: number;
  /** Prompt tokens that requests share. */
  readonly prefix: number;
}

/** What is known of the lengths before any prompt is made. */
export function nominalLengths(options: DatasetOptions): NominalLengths {
  const even = { inputSpread: 0, outputSpread: 0, prefix: 0 };
  switch (options.dataset_name) {
    case 'random': {
      const { input: inputSpread, output: outputSpread } = rangeRatios(options);
      const { random_input_len: input, random_output_len: output, random_prefix_len: prefix } = options;
      return { input: input + prefix, output, inputSpread, outputSpread, prefix };
    }
    case 'sonnet':
      return {
        ...even,
        input: options.sonnet_input_len,
        output: options.sonnet_output_len,
        prefix: options.sonnet_prefix_len,
      };
    case 'prefix_repetition':
      return {
        ...even,
        input: options.prefix_repetition_prefix_len + options.prefix_repetition_suffix_len,
        output: options.prefix_repetition_output_len,
        prefix: options.prefix_repetition_prefix_len,
      };
    case 'sharegpt':
      return { ...even, input: null, output: options.sharegpt_output_len ?? null };
    case 'hf':
      return { ...even, input: null, output: options.hf_output_len ?? null };
    case 'custom':
      return { ...even, input: null, output: options.custom_output_len === -1 ? null : options.custom_output_len };
    case 'burstgpt':
    case 'timed_trace':
      return { ...even, input: null, output: null };
  }
}
