import { cachedTokens } from './cached-tokens.ts';
import type { EventReader, StreamEvent } from './endpoint.ts';
import { type Fields, isCount, isFields, isPromptCount, isText, type Writable } from './fields.ts';
import { reportedError } from './reported-error.ts';

/** How a dialect reads one choice of an event: the text on a channel, or the empty string. */
export interface ChoiceReader {
  /** Text of the answer. */
  answer(choice: Fields): string;
  /** Text on any other channel: reasoning, a tool call. */
  other(choice: Fields): string;
}

/**
 * Reads one answer in what every OpenAI-shaped event has: `usage` (whether or not there are choices, because some servers
 * put it into the last chunk with choices and some into one without), `choices`, `finish_reason` and the ways to say
 * "error". With `stream_options.continuous_usage_stats` every event has the usage so far, and the difference from the
 * event before is the number of its tokens; one event without it, and nothing can be said of those that follow.
 */
export function openAiReader(choiceReader: ChoiceReader): EventReader {
  /** Tokens of all events so far; undefined since an event with a token did not tell. */
  let counted: number | undefined = 0;
  return (event) => {
    const read: Writable<StreamEvent> = { token: false, answer: false };
    if (!isFields(event)) return read;
    const { usage, choices } = event;
    if (isFields(usage)) {
      if (isPromptCount(usage.prompt_tokens)) read.promptTokens = usage.prompt_tokens;
      if (isCount(usage.completion_tokens)) read.outputTokens = usage.completion_tokens;
    }
    const cached = cachedTokens(event);
    if (cached !== undefined) read.cachedTokens = cached;
    const error = reportedError(event);
    if (error !== undefined) read.error = error;
    if (!Array.isArray(choices)) return read;
    if (choices.length > 0) read.choice = true;
    for (const choice of choices) if (isFields(choice)) readChoice(choice, choiceReader, read);
    if (read.token && counted !== undefined) {
      const total = read.outputTokens;
      if (total !== undefined && total > 0 && total >= counted) {
        read.tokens = total - counted;
        counted = total;
      } else counted = undefined;
    }
    return read;
  };
}

function readChoice(choice: Fields, reader: ChoiceReader, read: Writable<StreamEvent>): void {
  const answer = reader.answer(choice);
  const text = reader.other(choice) + answer;
  if (text !== '') {
    read.token = true;
    if (answer !== '') read.answer = true;
    read.text = read.text === undefined ? text : read.text + text;
  }
  const reason = choice.finish_reason;
  if (isText(reason)) {
    read.finishReason = reason;
    // What the server broke off is not an answer, however politely the stream ends.
    if (reason === 'error' || reason === 'abort') read.error ??= `the server ended the answer: finish_reason ${reason}`;
  }
  const error = reportedError(choice);
  if (error !== undefined) read.error = error;
}
