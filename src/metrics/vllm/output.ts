/** What vLLM's benchmark client keeps of one request. Times in seconds. */
export interface VllmOutput {
  readonly success: boolean;
  /** Prompt tokens as this side counted them. */
  readonly promptTokensByClient: number;
  /** Prompt tokens as the client's record has them in the end: the server's in releases that take them over. */
  readonly promptTokens: number;
  /** `usage.completion_tokens` of the message without choices; 0 where there was none. */
  readonly outputTokens: number;
  /** Tokens of the text, where it was encoded already: vLLM does so when `outputTokens` is 0. */
  readonly encodedTokens?: number;
  /** 0 where nothing came. */
  readonly ttftS: number;
  /** Gaps between messages that have a choice. */
  readonly itlS: readonly number[];
  readonly startS: number;
  /** End-to-end; 0 of a failed request. */
  readonly latencyS: number;
  readonly generatedText: string;
  /** Empty where nothing went wrong. */
  readonly error: string;
}
