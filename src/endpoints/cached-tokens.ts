import { type Fields, isCount, isFields } from './fields.ts';

/**
 * Prompt tokens that came from a cache of earlier prompts, as servers of the OpenAI dialects tell: vLLM (started with
 * `--enable-prompt-tokens-details`), SGLang (`--enable-cache-report`) and TensorRT-LLM in the usage, llama.cpp in the
 * timings of its last event. Undefined when it is not told.
 */
export function cachedTokens({ usage, timings }: Fields): number | undefined {
  const details = isFields(usage) ? usage.prompt_tokens_details : undefined;
  if (isFields(details) && isCount(details.cached_tokens)) return details.cached_tokens;
  return isFields(timings) && isCount(timings.cache_n) ? timings.cache_n : undefined;
}
