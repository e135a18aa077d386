import { z } from 'zod';

/** Longest wait that a schedule may ask for, seconds: beyond it nothing is measured, it only looks hung. */
const longestWaitS = 3600;

/** What a paced server does with every request. The keys are also the flags of its process entry. */
export const pacedOptions = z.strictObject({
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  port: z.int().min(0).max(65_535).default(0).describe('Port to listen on; 0 takes a free one'),
  model: z.string().min(1).default('paced').describe('Name of the model in answers and in /v1/models'),
  tokens: z
    .int()
    .min(0)
    .default(0)
    .describe('Tokens of an answer; 0 takes max_completion_tokens or max_tokens of the request, and 16 without either'),
  ttftS: z
    .number()
    .min(0)
    .max(longestWaitS)
    .default(0)
    .describe('From the last byte of the request to the first event, seconds'),
  itlS: z
    .number()
    .min(0)
    .max(longestWaitS)
    .default(0)
    .describe('From one event of an answer to the next, seconds; 0 sends as fast as it can'),
  eventsPerWrite: z
    .int()
    .min(1)
    .max(1024)
    .default(1)
    .describe('Events handed to a socket at once when itlS is 0; a paced event always goes alone'),
  tokensPerEvent: z
    .int()
    .min(1)
    .max(1024)
    .default(1)
    .describe('Tokens in the text of one event, as an engine sends that decodes speculatively'),
  role: z.boolean().default(false).describe('Open a chat answer with an event that has a role and no text'),
  maxBodyBytes: z
    .int()
    .min(1)
    .default(64 * 1024 * 1024)
    .describe('Largest body of a request that is read'),
});

export type PacedOptions = z.infer<typeof pacedOptions>;
