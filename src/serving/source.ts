/** What to generate for one request, already checked against the limits of the source. */
export interface Generation {
  readonly promptTokens: Uint32Array;
  /** Most tokens to generate, at least 1; prompt and answer together fit `maxModelLen`. */
  readonly maxTokens: number;
  /** Go on to `maxTokens` even where the model would end. */
  readonly ignoreEos: boolean;
  /** 0 takes the likeliest token every time. */
  readonly temperature: number;
  /** Share of the probability that sampling draws from, above 0 to 1. */
  readonly topP: number;
  /** 0 to 2^32 - 1; absent: the source picks one. */
  readonly seed: number | undefined;
}

/**
 * Takes the tokens of one request. The calls come from the source's own loop, so they must be cheap; none comes after
 * `end` or `fail`, nor after the generation was cancelled.
 */
export interface TokenSink {
  /**
   * One generated token, or `count` of one step, which leave as one event. The text is empty when it completes no
   * character (the bytes are held back for the next one) or has none (the end token); the texts together are valid
   * UTF-8.
   */
  token(text: string, count?: number): void;
  /** Of the prompt, tokens that a prefix cache held; called once at most, before the first token. */
  cached?(tokens: number): void;
  /** `stop`: the model ended; `length`: `maxTokens` were made. */
  end(reason: 'stop' | 'length'): void;
  /** No more tokens will come. `status` is the HTTP status where none was sent yet, 500 by default. */
  fail(message: string, status?: number): void;
}

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

/** What a source is doing now. */
export interface SourceStats {
  /** Requests that it is generating for. */
  readonly running: number;
  /** Requests that wait for room. */
  readonly waiting: number;
  /** Passes through the model since the start. */
  readonly steps: number;
  /** Share of the KV cache in use, 0 to 1. */
  readonly kvCacheUsage: number;
}

/** Whoever has tokens to give: the embedded engine, a simulated one, a server that answers at once or at a set pace. */
export interface TokenSource {
  /** The one name that requests may ask for. */
  readonly modelName: string;
  /** Longest prompt and answer together, tokens. */
  readonly maxModelLen: number;
  /** Longest context that the model was trained on, tokens. */
  readonly trainContext: number;
  /** Token ids are below this. */
  readonly vocabSize: number;
  /** Of the engine: `embedded 3.21.1`. */
  readonly version: string;
  /** The settings in force by engine-neutral name, for those who read them back. */
  readonly settings: Readonly<Record<string, string>>;
  tokenize(text: string, addSpecialTokens: boolean): Uint32Array | Promise<Uint32Array>;
  detokenize(tokens: Uint32Array): string | Promise<string>;
  /** The prompt that the model's chat template makes of the messages, tokenized. */
  chatPrompt(messages: readonly ChatMessage[]): Uint32Array | Promise<Uint32Array>;
  /** Begins a generation, or queues it. The sink may be called before this returns. */
  start(generation: Generation, sink: TokenSink): { cancel(): void };
  stats(): SourceStats;
}
