import type { RequestSpec } from '../records/request.ts';

/** What every request of a load has in common. */
export interface RequestOptions {
  /** The model's name as the server knows it. */
  readonly model: string;
  readonly temperature: number;
  readonly ignoreEos: boolean;
}

/** One request dialect: the body that is sent and how an event of the answer is read. One file each. */
export interface Endpoint {
  /** `--backend`. */
  readonly name: string;
  /** Path below the base URL. */
  readonly path: string;
  /** The JSON body of one request. */
  body(spec: RequestSpec, options: RequestOptions): Record<string, unknown>;
  /** Reads one event of the stream, already parsed from JSON. */
  read(event: unknown): StreamEvent;
}

/** What one event of a stream says. */
export interface StreamEvent {
  /** A token on any channel: answer text, reasoning, or a tool call's arguments. */
  readonly token: boolean;
  /** A token of the answer itself. */
  readonly answer: boolean;
  /** Text of the answer, for those who keep it. */
  readonly text?: string;
  readonly finishReason?: string;
  readonly promptTokens?: number;
  readonly outputTokens?: number;
  /** The server's message, when the event reports an error. */
  readonly error?: string;
}
