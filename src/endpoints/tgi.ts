import type { Sampling } from '../records/workload.ts';
import type { Endpoint, StreamEvent } from './endpoint.ts';
import { isCount, isFields, isPromptCount, isText, type Writable } from './fields.ts';
import { reportedError } from './reported-error.ts';
import { given } from './sampling.ts';

/**
 * The server refuses a temperature of 0, `top_p` of 1 and `top_k` of -1, which all mean the same as leaving them out; and
 * `top_p` or `top_k` make it sample whatever `do_sample` says, so greedy decoding goes without them.
 */
function parameters(sampling: Sampling): Record<string, unknown> {
  const { temperature, top_p, top_k, repetition_penalty, frequency_penalty } = sampling;
  const penalties = given({ repetition_penalty, frequency_penalty });
  if (temperature === 0) return { do_sample: false, ...penalties };
  const draws = given({ temperature, top_p: top_p === 1 ? undefined : top_p, top_k: top_k === -1 ? undefined : top_k });
  const samples = temperature !== undefined || top_p !== undefined || top_k !== undefined;
  return { ...(samples ? { do_sample: true } : {}), ...draws, ...penalties };
}

/**
 * Text Generation Inference's `/generate_stream`: an event a token; the last one has the whole text and the details. It
 * has no way to generate past the end-of-sequence token, so the length is not pinned: that shows in the achieved counts.
 */
export const tgi: Endpoint = {
  name: 'tgi',
  path: '/generate_stream',
  generates: true,
  endsWith: 'event',
  templates: false,
  unsupported: ['min_p', 'presence_penalty'],
  body: (spec, { sampling, logprobs }) => ({
    inputs: spec.prompt,
    parameters: {
      max_new_tokens: spec.outputTokens,
      details: true,
      ...parameters(sampling),
      ...(logprobs === undefined ? {} : { top_n_tokens: logprobs }),
      ...(spec.model === undefined ? {} : { adapter_id: spec.model }),
    },
  }),
  reader: () => (event) => {
    const read: Writable<StreamEvent> = { token: false, answer: false };
    if (!isFields(event)) return read;
    const error = reportedError(event);
    if (error !== undefined) read.error = error;
    const { token, generated_text: whole, details } = event;
    if (isFields(token)) {
      read.token = true;
      read.answer = true;
      read.tokens = 1;
      // The end-of-sequence token was generated like any other, but it is no text.
      if (token.special !== true && isText(token.text)) read.text = token.text;
    }
    if (isFields(details)) {
      if (isText(details.finish_reason)) read.finishReason = details.finish_reason;
      if (isCount(details.generated_tokens)) read.outputTokens = details.generated_tokens;
      const promptTokens = details.input_length ?? details.prompt_tokens;
      if (isPromptCount(promptTokens)) read.promptTokens = promptTokens;
    }
    if (typeof whole === 'string') read.done = true;
    return read;
  },
};
