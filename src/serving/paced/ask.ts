import { messageOf } from '../../kit/errors.ts';
import { Refusal } from '../refusal.ts';
import type { AnswerShape } from './events.ts';

/** What an answer is to be like; `tokens` and `tokensPerEvent` are those of the server's options. */
interface AskOptions {
  readonly tokens: number;
  readonly tokensPerEvent: number;
}

/** OpenAI's own default of `max_tokens`. */
const defaultTokens = 16;
/** Usual for English; a prompt of token ids is counted. */
const bytesPerToken = 4;

/** Reads the body of a generating request. Throws a Refusal (400) when there is nothing in it to answer. */
export function readAsk(body: Buffer, options: AskOptions): AnswerShape {
  const ask = jsonObject(body);
  const tokens = options.tokens || tokensAsked(ask);
  const { prompt, messages, stream_options } = ask;
  return {
    tokens,
    events: Math.ceil(tokens / options.tokensPerEvent),
    tokensPerEvent: options.tokensPerEvent,
    promptTokens: promptTokens(prompt ?? messages),
    includeUsage: isObject(stream_options) && stream_options.include_usage === true,
  };
}

function jsonObject(body: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch (error) {
    throw new Refusal(400, 'bad_json', `the body is not JSON: ${messageOf(error)}`);
  }
  if (!isObject(value)) throw new Refusal(400, 'bad_request', 'the body is not a JSON object');
  return value;
}

function tokensAsked(ask: Record<string, unknown>): number {
  for (const name of ['max_completion_tokens', 'max_tokens']) {
    const value = ask[name] ?? undefined;
    if (value === undefined) continue;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
    throw new Refusal(400, 'bad_request', `${name} must be a whole number from 1 on`, name);
  }
  return defaultTokens;
}

/** Tokens of a prompt: texts are estimated from their length, wherever they stand in it. */
function promptTokens(prompt: unknown): number {
  if (typeof prompt === 'string') return Math.ceil(prompt.length / bytesPerToken);
  if (Array.isArray(prompt)) {
    if (typeof prompt[0] === 'number') return prompt.length;
    return prompt.reduce((sum: number, part) => sum + promptTokens(part), 0);
  }
  return isObject(prompt) ? promptTokens(prompt.content ?? prompt.text) : 0;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
