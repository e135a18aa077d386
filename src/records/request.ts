/** What to send: one prompt, how long the client believes it is, and how long the answer shall be. */
export interface RequestSpec {
  /** Position in the workload, from 0. */
  readonly index: number;
  readonly prompt: string;
  /** Prompt tokens as counted on this side, without the chat template. */
  readonly promptTokens: number;
  /** Output tokens asked for (`max_tokens`, pinned by `ignore_eos`). */
  readonly outputTokens: number;
  /** When a dataset that has its own clock (a timed trace) wants it sent, seconds after the start of the load. */
  readonly dueS?: number;
  /** Sent in place of the load's model: a LoRA adapter. */
  readonly model?: string;
}

/** How a request ended. `ok` needs at least one token and a terminal signal; everything else is a failure with a name. */
export const outcomes = [
  'ok',
  /** A status other than 200. */
  'http_error',
  /** An error object inside a 200 answer. */
  'in_band_error',
  /** The body ended, or the stream broke, before a terminal signal. */
  'truncated',
  /** A terminal signal, and not one token. */
  'empty',
  'timeout',
  'connection_error',
  /** We gave up on it: Ctrl-C, or the engine died. */
  'cancelled',
] as const;
export type Outcome = (typeof outcomes)[number];

/** Who counted the output tokens: the server's `usage`, a tokenizer on this side, or nobody (one a chunk is assumed). */
export type TokenCounter = 'server' | 'tokenizer' | 'chunks';

/** Records that need not all be in memory as objects at once: an array, or a packed log that unpacks them one by one. */
export interface RecordList extends Iterable<RequestRecord> {
  readonly length: number;
}

/**
 * What happened to one request, raw and final. All times are seconds since the start of the load (the moment from which
 * the first request is due), on the client's monotonic clock. A time that never came is absent.
 */
export interface RequestRecord {
  readonly index: number;
  readonly outcome: Outcome;
  /** Why it failed, in the server's or the system's words. */
  readonly error?: string;
  readonly httpStatus?: number;
  /** When the schedule wanted it sent. With a limit on concurrency: when its slot became free. */
  readonly intendedSendS: number;
  /** When its first byte was handed to the socket. */
  readonly sendS: number;
  /** First event of any kind, role-only ones included; comments are not events. */
  readonly firstEventS?: number;
  /** First token on any channel: content, reasoning or tool call. */
  readonly firstTokenS?: number;
  /** First token of the answer itself (content). */
  readonly firstAnswerTokenS?: number;
  /** Every token-bearing event: when it was read. */
  readonly tokenTimesS: readonly number[];
  /** Tokens of each of those events, where the server tells them event by event. Absent: not told. */
  readonly tokenCounts?: readonly number[];
  /** Events with a choice but without a token (role, finish reason). Nothing but vLLM's metrics looks at them. */
  readonly emptyChoiceTimesS?: readonly number[];
  /** Last event of any kind before `[DONE]`, the one with the usage included. */
  readonly lastEventS?: number;
  /** Last token-bearing event; of an endpoint that generates nothing (embeddings), its whole answer. */
  readonly lastTokenS?: number;
  /** End of the stream: its terminal signal, or the failure. */
  readonly endS: number;
  readonly promptTokens: number;
  /** `usage.prompt_tokens`: the template included. */
  readonly serverPromptTokens?: number;
  /** Those of `serverPromptTokens` that came from a cache of earlier prompts, where the server tells. */
  readonly cachedTokens?: number;
  readonly outputTokensAsked: number;
  readonly outputTokens: number;
  readonly outputTokensBy: TokenCounter;
  readonly finishReason?: string;
  /** Text on every channel, where it is kept: for `--save-detailed`, and where the server did not count its tokens. */
  readonly text?: string;
  /** Data lines that could not be parsed; the request goes on. */
  readonly malformedEvents: number;
  /** The beginning of the first of them. */
  readonly malformedText?: string;
}
