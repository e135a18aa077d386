import { z } from 'zod';
import { compatModes } from './compat.ts';
import { datasetOptions } from './dataset-options.ts';

/** Every value of `--backend`, in the order of `--help`. */
export const backends = [
  'openai-chat',
  'openai',
  'vllm',
  'vllm-chat',
  'openai-embeddings',
  'sglang',
  'tensorrt-llm',
  'tgi',
  'llama.cpp',
] as const;
export type Backend = (typeof backends)[number];

/** How each token is chosen. What is absent is not sent, so the server's own default applies. */
export const samplingOptions = {
  temperature: z.number().min(0).max(2).optional().describe('Sampling temperature; 0 is greedy'),
  top_p: z.number().gt(0).max(1).optional().describe('Keep the most likely tokens up to this probability'),
  top_k: z.int().min(-1).optional().describe('Keep this many of the most likely tokens; -1 keeps all'),
  min_p: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('Drop tokens below this share of the likeliest one’s probability'),
  frequency_penalty: z.number().min(-2).max(2).optional().describe('Penalty for each earlier occurrence of a token'),
  presence_penalty: z.number().min(-2).max(2).optional().describe('Penalty for a token that occurred before'),
  repetition_penalty: z
    .number()
    .positive()
    .optional()
    .describe('Factor against tokens that occurred before; 1 is none'),
} as const;
export const sampling = z.strictObject(samplingOptions);
export type Sampling = z.infer<typeof sampling>;

/** When requests are sent. */
export const arrivalOptions = {
  request_rate: z
    .union([z.literal('inf'), z.number().positive()])
    .default('inf')
    .describe('Requests a second; inf sends as soon as the concurrency limit allows'),
  burstiness: z
    .union([z.literal('inf'), z.number().positive()])
    .default(1)
    .describe(
      'Shape of the gamma-distributed gaps at a finite rate: 1 is a Poisson process, less is burstier, inf is even',
    ),
  ramp_up_strategy: z.enum(['linear', 'exponential']).optional().describe('Raise the rate during the load'),
  ramp_up_start_rps: z.number().positive().optional().describe('Rate of the first request when ramping up, 1/s'),
  ramp_up_end_rps: z.number().positive().optional().describe('Rate of the last request when ramping up, 1/s'),
  max_concurrency: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe('Most requests in flight at once; none means no limit'),
} as const;

/**
 * What is sent: dataset, lengths, count, arrival. Keys are `vllm bench serve`'s flags with `_` for `-`; the command line,
 * the YAML keys, `--help` and validation all come from this schema.
 */
export const workloadOptions = z.strictObject({
  backend: z
    .enum(backends)
    .default('openai-chat')
    .describe('Request dialect: openai is completions, openai-chat chat completions'),
  ...datasetOptions,
  min_duration_s: z
    .number()
    .min(0)
    .max(86_400)
    .default(0)
    .describe('Go on sending past num_prompts until the load has lasted this long, seconds'),
  ...arrivalOptions,
  ...samplingOptions,
  temperature: samplingOptions.temperature.default(0),
  ignore_eos: z.boolean().default(true).describe('Pin the output length: generate past the end-of-sequence token'),
  request_timeout_s: z
    .number()
    .positive()
    .max(86_400)
    .optional()
    .describe('Give a request up after this long, seconds; none means wait for ever'),
  compat: z
    .enum(compatModes)
    .default('servetune')
    .describe('Prompts and request bodies as that version of vLLM’s benchmark makes them'),
});

/** The options of one load. A temperature that is absent is not sent. */
export type WorkloadOptions = Omit<z.infer<typeof workloadOptions>, 'temperature'> & {
  readonly temperature?: number | undefined;
};

/** A workload of a study: the same options under a name. */
export const workload = workloadOptions.extend({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,40}$/, 'lower-case letters, digits, - and _')
    .describe('Name of the workload in tables and folders'),
});

export type Workload = z.infer<typeof workload>;
