import { inFlight } from './in-flight.ts';
import type { SchedulerKind } from './scheduler.ts';

/** TensorRT-LLM: in-flight batching with GUARANTEED_NO_EVICT, its default: prompt and answer are reserved in whole. */
export const tensorrtLlm: SchedulerKind = {
  name: 'tensorrt-llm',
  create: (requests, options) => inFlight(requests, options, 'reserve'),
};
