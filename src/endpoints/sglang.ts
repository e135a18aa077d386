import type { Endpoint, EventReader, StreamEvent } from './endpoint.ts';
import { isCount, isFields, isPromptCount, isText, type Writable } from './fields.ts';
import { reportedError } from './reported-error.ts';
import { given } from './sampling.ts';

/**
 * Reads one answer of `/generate`: each event repeats the whole text and counts all tokens so far, so its own tokens are
 * the difference. A server started with `--incremental-streaming-output` (earlier `--stream-output`) sends only the new
 * text; the second text tells which it is.
 */
function reader(): EventReader {
  let counted = 0;
  let before = '';
  let repeats: boolean | undefined;
  return (event) => {
    const read: Writable<StreamEvent> = { token: false, answer: false };
    if (!isFields(event)) return read;
    const error = reportedError(event);
    if (error !== undefined) read.error = error;
    const { text, meta_info: about } = event;
    let isNew = false;
    if (isText(text)) {
      if (repeats === undefined && before !== '' && text !== before) repeats = text.startsWith(before);
      isNew = repeats === false || text.length > before.length;
      if (repeats === false) read.text = text;
      else read.textSoFar = text;
      before = text;
    }
    if (isFields(about)) {
      read.choice = true;
      if (isPromptCount(about.prompt_tokens)) read.promptTokens = about.prompt_tokens;
      if (isCount(about.cached_tokens)) read.cachedTokens = about.cached_tokens;
      if (isCount(about.completion_tokens)) {
        read.outputTokens = about.completion_tokens;
        isNew = about.completion_tokens > counted;
        if (isNew) read.tokens = about.completion_tokens - counted;
        counted = Math.max(counted, about.completion_tokens);
      }
      readReason(about.finish_reason, read);
    }
    // A token without text counts too: the server holds back what is not a whole character yet.
    read.token = isNew;
    read.answer = isNew;
    return read;
  };
}

/** `{ "type": "length", "length": 8 }`, `{ "type": "abort", "message": ..., "status_code": 400 }`, or null. */
function readReason(reason: unknown, read: Writable<StreamEvent>): void {
  if (!isFields(reason)) return;
  const { type, message, status_code: status } = reason;
  if (!isText(type)) return;
  read.finishReason = type;
  if (type !== 'abort') return;
  const code = typeof status === 'number' ? `${status}: ` : '';
  read.error ??= code + (isText(message) ? message : 'the server ended the answer: finish_reason abort');
}

/** SGLang's own `/generate`: the raw prompt, without a chat template. */
export const sglang: Endpoint = {
  name: 'sglang',
  path: '/generate',
  generates: true,
  endsWith: 'event',
  templates: false,
  body: (spec, { sampling, ignoreEos, logprobs }) => ({
    text: spec.prompt,
    sampling_params: {
      ...given(sampling),
      max_new_tokens: spec.outputTokens,
      ...(ignoreEos ? { ignore_eos: true } : {}),
    },
    stream: true,
    ...(logprobs === undefined ? {} : { return_logprob: true, top_logprobs_num: logprobs }),
    ...(spec.model === undefined ? {} : { lora_path: spec.model }),
  }),
  reader,
};
