import type { Sampling } from '../records/workload.ts';
import type { Endpoint, StreamEvent } from './endpoint.ts';
import { isCount, isFields, isPromptCount, isText, type Writable } from './fields.ts';
import { reportedError } from './reported-error.ts';
import { given } from './sampling.ts';

/** Triton sends a tensor of one element as the element. */
const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value);

/** Greedy is the likeliest one token: a temperature of 0 is refused by some versions. `top_k` 0 is all. */
function parameters(sampling: Sampling): Sampling {
  const { temperature, top_p, top_k, frequency_penalty, presence_penalty, repetition_penalty } = sampling;
  const draws = temperature === 0 ? { top_k: 1 } : { temperature, top_p, top_k: top_k === -1 ? 0 : top_k };
  return given({ ...draws, frequency_penalty, presence_penalty, repetition_penalty });
}

/**
 * TensorRT-LLM behind Triton: the model `ensemble` by the generate extension. Every event has the new text; nothing but
 * the end of the body ends an answer. Newer versions count the tokens of each event when asked to. A field that the model
 * does not declare is a mere parameter of the request and does no harm, so the length is pinned under both names that the
 * minimum has had.
 */
export const tensorrtLlm: Endpoint = {
  name: 'tensorrt-llm',
  path: '/v2/models/ensemble/generate_stream',
  generates: true,
  endsWith: 'body',
  templates: false,
  unsupported: ['min_p', 'logprobs', 'lora'],
  body: ({ prompt, outputTokens }, { sampling, ignoreEos }) => ({
    text_input: prompt,
    max_tokens: outputTokens,
    ...parameters(sampling),
    stream: true,
    return_num_input_tokens: true,
    return_num_output_tokens: true,
    ...(ignoreEos ? { min_tokens: outputTokens, min_length: outputTokens } : {}),
  }),
  reader: () => (event) => {
    const read: Writable<StreamEvent> = { token: false, answer: false };
    if (!isFields(event)) return read;
    const error = reportedError(event);
    if (error !== undefined) read.error = error;
    const text = first(event.text_output);
    if (typeof text !== 'string') return read;
    read.choice = true;
    const promptTokens = first(event.num_input_tokens);
    if (isPromptCount(promptTokens)) read.promptTokens = promptTokens;
    const tokens = first(event.num_output_tokens);
    if (isCount(tokens) && tokens > 0) read.tokens = tokens;
    if (isText(text)) read.text = text;
    read.token = read.text !== undefined || read.tokens !== undefined;
    read.answer = read.token;
    return read;
  },
};
