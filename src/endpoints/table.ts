import type { Endpoint } from './endpoint.ts';
import { llamaCpp } from './llama-cpp.ts';
import { openai } from './openai.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiEmbeddings } from './openai-embeddings.ts';
import { sglang } from './sglang.ts';
import { tensorrtLlm } from './tensorrt-llm.ts';
import { tgi } from './tgi.ts';

/**
 * Every request dialect, in the order of `--help`. To add one: write its file beside this one, then name it here. `vllm`
 * and `vllm-chat` are what vLLM's and SGLang's benchmarks call the OpenAI dialects of a vLLM server.
 */
export const endpoints: readonly Endpoint[] = [
  openaiChat,
  openai,
  { ...openai, name: 'vllm' },
  { ...openaiChat, name: 'vllm-chat' },
  openaiEmbeddings,
  sglang,
  tensorrtLlm,
  tgi,
  llamaCpp,
];

/** A dialect by its name; throws for one that is not in the table. */
export function endpointNamed(name: string): Endpoint {
  const endpoint = endpoints.find((e) => e.name === name);
  if (!endpoint) throw new Error(`there is no request dialect ${name}`);
  return endpoint;
}
