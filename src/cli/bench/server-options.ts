import { z } from 'zod';
import { backends } from '../../records/workload.ts';

/** Which server is asked, and how it is reached. */
export const serverOptions = {
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Address of the server, http://... or https://...; default: http://HOST:PORT'),
  host: z.string().min(1).default('127.0.0.1').describe('Host of the server'),
  port: z.int().min(1).max(65535).default(8000).describe('Port of the server'),
  // Names that vLLM has and servetune has not are refused with a reason, so the schema takes any.
  backend: z
    .string()
    .default('openai')
    .describe(`Request dialect: openai is completions, openai-chat chat completions; one of ${backends.join(', ')}`),
  endpoint: z.string().startsWith('/').optional().describe('Path of the request; default: that of --backend'),
  model: z.string().min(1).optional().describe('Model; default: the first that the server names'),
  served_model_name: z
    .string()
    .min(1)
    .optional()
    .describe('Name to send when it is not --model, which then names the tokenizer'),
  tokenizer: z
    .string()
    .min(1)
    .optional()
    .describe('tokenizer.json, or a folder with one; default: the server’s own /tokenize, else an approximation'),
  skip_tokenizer_init: z.boolean().default(false).describe('Work without a tokenizer; token counts are the server’s'),
  header: z.array(z.string()).default([]).describe('Headers of every request, as KEY=VALUE'),
  insecure: z.boolean().default(false).describe('Do not check the certificate of an https server'),
  ready_check_timeout_sec: z
    .int()
    .min(0)
    .max(86_400)
    .optional()
    .describe(
      'Send one request again and again until it is answered, this long at most, seconds; 0 sends none; default: 0, and 600 as in vLLM 0.11.0 and 0.11.1',
    ),
  profile: z.boolean().default(false).describe('Have the server profile the load: /start_profile, /stop_profile'),
} as const;
