import { cachedTokens } from './cached-tokens.ts';
import type { Endpoint, EventReader, StreamEvent } from './endpoint.ts';
import { isCount, isFields, isPromptCount, isText, type Writable } from './fields.ts';
import { reportedError } from './reported-error.ts';
import { given } from './sampling.ts';

/**
 * Reads one answer of `/completion`: each event has its own text and, in builds since 2025, the tokens predicted so far;
 * the one with `stop` is the last, and no `[DONE]` follows.
 */
function reader(): EventReader {
  let counted = 0;
  return (event) => {
    const read: Writable<StreamEvent> = { token: false, answer: false };
    if (!isFields(event)) return read;
    const error = reportedError(event);
    if (error !== undefined) read.error = error;
    const { content, stop, tokens_predicted: predicted, tokens_evaluated: evaluated } = event;
    if (typeof content !== 'string') return read;
    read.choice = true;
    if (content !== '') {
      read.text = content;
      read.token = true;
    }
    if (isPromptCount(evaluated)) read.promptTokens = evaluated;
    const cached = cachedTokens(event);
    if (cached !== undefined) read.cachedTokens = cached;
    if (isCount(predicted)) {
      read.outputTokens = predicted;
      // Without text too: the server holds back what is not a whole character yet, or may be part of a stop word. In
      // older builds the last event is the only one that counts, and tells nothing of its own.
      if (predicted > counted && (stop !== true || counted > 0)) {
        read.tokens = predicted - counted;
        read.token = true;
      }
      counted = predicted;
    }
    read.answer = read.token;
    if (stop === true) {
      read.done = true;
      if (isText(event.stop_type)) read.finishReason = event.stop_type;
    }
    return read;
  };
}

/** llama.cpp's own `/completion`: the raw prompt, without a chat template. */
export const llamaCpp: Endpoint = {
  name: 'llama.cpp',
  path: '/completion',
  generates: true,
  endsWith: 'event',
  templates: false,
  unsupported: ['lora'],
  body({ prompt, outputTokens }, { sampling, ignoreEos, logprobs }) {
    const { repetition_penalty: repeat_penalty, ...others } = given(sampling);
    return {
      prompt,
      ...others,
      ...(repeat_penalty === undefined ? {} : { repeat_penalty }),
      n_predict: outputTokens,
      stream: true,
      ...(ignoreEos ? { ignore_eos: true } : {}),
      ...(logprobs === undefined ? {} : { n_probs: logprobs }),
    };
  },
  reader,
};
