/** A request that is refused: what the client gets instead of an answer. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  /** Stable and greppable, as OpenAI's `error.code`. */
  readonly code: string;
  /** The parameter at fault, if there is one. */
  readonly param: string | null;

  constructor(status: number, code: string, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** An error in the shape of OpenAI's API, which is also the shape of an error in the middle of a stream. */
export const errorBody = (status: number, code: string, message: string, param: string | null = null) => ({
  error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param, code },
});
