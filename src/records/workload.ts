import { z } from 'zod';

/**
 * What is sent: dataset, lengths, count, arrival. Keys are `vllm bench serve`'s flags with `_` for `-`; the command line,
 * the YAML keys, `--help` and validation all come from this schema.
 */
export const workloadOptions = z.strictObject({
  backend: z
    .enum(['openai-chat', 'openai'])
    .default('openai-chat')
    .describe('Request dialect: chat completions or completions'),
  dataset_name: z.enum(['random']).default('random').describe('Where the prompts come from'),
  random_input_len: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(1024)
    .describe('Prompt tokens a request, before the chat template'),
  random_output_len: z.int().min(1).max(1_000_000).default(128).describe('Output tokens a request'),
  random_range_ratio: z
    .number()
    .min(0)
    .lt(1)
    .default(0)
    .describe('Spread of both lengths: each is drawn from [len*(1-r), len*(1+r)]'),
  random_prefix_len: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe('Prompt tokens that all requests share, in front'),
  num_prompts: z.int().min(1).max(10_000_000).default(1000).describe('Requests to send'),
  min_duration_s: z
    .number()
    .min(0)
    .max(86_400)
    .default(0)
    .describe('Go on sending past num_prompts until the load has lasted this long, seconds'),
  request_rate: z
    .union([z.literal('inf'), z.number().positive()])
    .default('inf')
    .describe('Requests a second; inf sends as soon as the concurrency limit allows'),
  max_concurrency: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe('Most requests in flight at once; none means no limit'),
  seed: z.int().min(0).max(4_294_967_295).default(0).describe('Seed of the prompts'),
  temperature: z.number().min(0).max(2).default(0).describe('Sampling temperature; 0 is greedy'),
  ignore_eos: z.boolean().default(true).describe('Pin the output length: generate past the end-of-sequence token'),
  request_timeout_s: z
    .number()
    .positive()
    .max(86_400)
    .optional()
    .describe('Give a request up after this long, seconds; none means wait for ever'),
});

export type WorkloadOptions = z.infer<typeof workloadOptions>;

/** A workload of a study: the same options under a name. */
export const workload = workloadOptions.extend({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,40}$/, 'lower-case letters, digits, - and _')
    .describe('Name of the workload in tables and folders'),
});

export type Workload = z.infer<typeof workload>;
