import { inFlight } from './in-flight.ts';
import type { SchedulerKind } from './scheduler.ts';

/**
 * vLLM: one budget of tokens a step, decoding first, then chunks of prompts; nothing is reserved for answers, and when
 * the KV cache is full the newest request is thrown out and computed again.
 */
export const vllm: SchedulerKind = {
  name: 'vllm',
  create: (requests, options) => inFlight(requests, options, 'preempt'),
};
