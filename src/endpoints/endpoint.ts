import type { Compat } from '../records/compat.ts';
import type { RequestSpec } from '../records/request.ts';
import type { Sampling } from '../records/workload.ts';

/** What every request of a load has in common. */
export interface RequestOptions {
  /** The model's name as the server knows it. */
  readonly model: string;
  readonly sampling: Sampling;
  readonly ignoreEos: boolean;
  /** Log probabilities of this many tokens; absent asks for none. */
  readonly logprobs?: number;
  /** Whose request body this is. */
  readonly compat: Compat;
}

/** What a load may want beyond the prompt and its length: a way to sample, log probabilities, a LoRA adapter by name. */
export type Wish = keyof Sampling | 'logprobs' | 'lora';

/** Reads one event of one answer, already parsed from JSON; called in order, and never again after the answer ended. */
export type EventReader = (event: unknown) => StreamEvent;

/** One request dialect: the body that is sent and how an answer is read. One file each. */
export interface Endpoint {
  /** `--backend`. */
  readonly name: string;
  /** Path below the base URL. */
  readonly path: string;
  /** Whether an answer consists of tokens; embeddings do not. */
  readonly generates: boolean;
  /** What ends an answer: an event (`[DONE]`, a finish reason), or nothing but the clean end of the body. */
  readonly endsWith: 'event' | 'body';
  /** Whether the server applies a chat template to the prompt. */
  readonly templates: boolean;
  /** What it has no word for. A request leaves that out, so whoever wants it must be refused first: `unsupported()`. */
  readonly unsupported?: readonly Wish[];
  /** The JSON body of one request. */
  body(spec: RequestSpec, options: RequestOptions): Record<string, unknown>;
  /** A reader for one answer; it may remember what came before. */
  reader(): EventReader;
}

/** What one event of a stream says. */
export interface StreamEvent {
  /** A token on any channel: answer text, reasoning, or a tool call's arguments. */
  readonly token: boolean;
  /** A token of the answer itself. */
  readonly answer: boolean;
  /** How many tokens it carries, where it says so. */
  readonly tokens?: number;
  /** It has a choice, with or without a token. */
  readonly choice?: boolean;
  /** New text, on whatever channel. */
  readonly text?: string;
  /** In place of `text`, from servers that repeat it: all text so far. */
  readonly textSoFar?: string;
  readonly finishReason?: string;
  /** Nothing follows: the answer is complete now. */
  readonly done?: boolean;
  readonly promptTokens?: number;
  /** Prompt tokens that the server took from a cache. */
  readonly cachedTokens?: number;
  readonly outputTokens?: number;
  /** The server's message, when the event reports an error. */
  readonly error?: string;
}
