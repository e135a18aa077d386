import type { Endpoint, StreamEvent } from './endpoint.ts';
import { isFields, isPromptCount, type Writable } from './fields.ts';
import { reportedError } from './reported-error.ts';

const isEmbedding = (item: unknown): boolean =>
  isFields(item) && item.embedding !== undefined && item.embedding !== null;

/**
 * Embeddings, as `vllm bench serve --backend openai-embeddings` asks for them: nothing is generated, and the answer comes
 * in one piece. vLLM's client cuts prompts to the model's length from v0.11.1 on; in our own mode one that does not fit is
 * an error, because fewer tokens are less work.
 */
export const openaiEmbeddings: Endpoint = {
  name: 'openai-embeddings',
  path: '/v1/embeddings',
  generates: false,
  endsWith: 'body',
  templates: false,
  unsupported: [
    'temperature',
    'top_p',
    'top_k',
    'min_p',
    'frequency_penalty',
    'presence_penalty',
    'repetition_penalty',
    'logprobs',
  ],
  body: ({ prompt }, { model, compat }) => ({
    model,
    input: prompt,
    ...(compat === 'vllm-0.11.1' || compat === 'vllm-2026-08' ? { truncate_prompt_tokens: -1 } : {}),
  }),
  reader: () => (event) => {
    const read: Writable<StreamEvent> = { token: false, answer: false };
    if (!isFields(event)) return read;
    const error = reportedError(event);
    if (error !== undefined) read.error = error;
    const { data, usage } = event;
    if (isFields(usage) && isPromptCount(usage.prompt_tokens)) read.promptTokens = usage.prompt_tokens;
    if (Array.isArray(data) && data.some(isEmbedding)) {
      read.outputTokens = 0;
      read.done = true;
    }
    return read;
  },
};
