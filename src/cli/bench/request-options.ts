import { z } from 'zod';
import { workloadOptions } from '../../records/workload.ts';

/** What each request has besides its prompt. */
export const requestOptions = {
  input_len: z.int().min(1).max(1_000_000).optional().describe('Prompt tokens, in place of --random-input-len'),
  output_len: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('Output tokens, in place of --random-output-len and of its like for other datasets, sonnet excepted'),
  ignore_eos: z
    .boolean()
    .optional()
    .describe('Pin the output length: generate past the end-of-sequence token; default: on for made-up prompts'),
  logprobs: z.int().min(0).max(100).optional().describe('Ask for the log probabilities of this many tokens'),
  extra_body: z.record(z.string(), z.json()).optional().describe('JSON object laid over every request body'),
  lora_modules: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('LoRA modules that the server has; each request names one of them as its model'),
  lora_assignment: z.enum(['random', 'round-robin']).default('random').describe('How requests get their LoRA module'),
  request_id_prefix: z
    .string()
    .regex(/^[\x21-\x7e]*$/, 'must be printable ASCII without blanks')
    .optional()
    .describe('Beginning of each x-request-id; default: bench-, eight random digits, -'),
  request_timeout_s: workloadOptions.shape.request_timeout_s,
} as const;
