import type { StreamEvent } from './endpoint.ts';

export type Fields = Readonly<Record<string, unknown>>;
type Writable<T> = { -readonly [K in keyof T]: T[K] };

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
export const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** A number of tokens; what is negative, broken or beyond all reason was not counted by anybody. */
const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1e9;

/** How a dialect reads one choice of an event. */
export interface ChoiceReader {
  /** Text of the answer, or the empty string. */
  answer(choice: Fields): string;
  /** Whether it carries text on any other channel: reasoning, a tool call. */
  other(choice: Fields): boolean;
}

/**
 * What every OpenAI-shaped event has: `usage` (read whether or not there are choices, because some servers put it into
 * the last chunk with choices and some into one without), `choices`, `finish_reason` and the ways to say "error".
 */
export function readOpenAiEvent(event: unknown, reader: ChoiceReader): StreamEvent {
  const read: Writable<StreamEvent> = { token: false, answer: false };
  if (!isFields(event)) return read;
  const { usage, choices } = event;
  if (isFields(usage)) {
    if (isCount(usage.prompt_tokens)) read.promptTokens = usage.prompt_tokens;
    if (isCount(usage.completion_tokens)) read.outputTokens = usage.completion_tokens;
  }
  if (isReal(event.error)) read.error = errorText(event);
  else if (event.object === 'error') read.error = errorText({ error: event });
  if (!Array.isArray(choices)) return read;
  for (const choice of choices) if (isFields(choice)) readChoice(choice, reader, read);
  return read;
}

function readChoice(choice: Fields, reader: ChoiceReader, read: Writable<StreamEvent>): void {
  const text = reader.answer(choice);
  if (text !== '') {
    read.token = true;
    read.answer = true;
    read.text = read.text === undefined ? text : read.text + text;
  } else if (!read.token && reader.other(choice)) {
    read.token = true;
  }
  const reason = choice.finish_reason;
  if (isText(reason)) {
    read.finishReason = reason;
    // What the server broke off is not an answer, however politely the stream ends.
    if (reason === 'error' || reason === 'abort') read.error ??= `the server ended the answer: finish_reason ${reason}`;
  }
  if (isReal(choice.error)) read.error = errorText(choice);
}

/**
 * Whether a value says that something went wrong. Servers and proxies fill an unused `error` with null, false, 0, an
 * empty string, object or array, or with an object of such values.
 */
function isReal(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  return isFields(value) ? Object.values(value).some(isReal) : Boolean(value);
}

/** The server's words about `error` in the holder: `400: This model's maximum context length is ...`. */
function errorText(holder: Fields): string {
  const { error } = holder;
  if (!isFields(error)) {
    const text = isText(error) ? error : isText(holder.message) ? holder.message : JSON.stringify(holder);
    return clip(text);
  }
  const message = isText(error.message) ? error.message : isText(error.detail) ? error.detail : JSON.stringify(error);
  const code = error.code ?? error.status_code;
  return clip(typeof code === 'number' || isText(code) ? `${code}: ${message}` : message);
}

const clip = (text: string): string => (text.length > 500 ? `${text.slice(0, 500)}...` : text);
