import { boundedText } from './bounded-text.ts';
import { ServetuneError } from './errors.ts';

/** What a server answered. */
export interface BoundedAnswer {
  readonly status: number;
  /** The status is one of success. */
  readonly ok: boolean;
  /** The body, or its beginning. */
  readonly text: string;
}

export interface AnswerBounds {
  readonly method?: 'GET' | 'POST';
  /** Longest that the whole answer may take (default 15 s). */
  readonly timeoutS?: number;
  /** Most that is read of its body, characters (default 16 Mi). */
  readonly most?: number;
}

/**
 * Asks a server that may never answer, or never end its answer. Throws a ServetuneError `no_answer` when the time is up,
 * what `fetch` throws when there is no connection, and the signal's reason.
 */
export async function boundedAnswer(
  url: URL,
  signal: AbortSignal,
  { method = 'GET', timeoutS = 15, most = 16 << 20 }: AnswerBounds = {},
): Promise<BoundedAnswer> {
  const late = AbortSignal.timeout(timeoutS * 1000);
  try {
    const response = await fetch(url, { method, signal: AbortSignal.any([signal, late]) });
    return { status: response.status, ok: response.ok, text: await boundedText(response, most) };
  } catch (error) {
    signal.throwIfAborted();
    if (!late.aborted) throw error;
    throw new ServetuneError('no_answer', `${method} ${url} was not answered within ${timeoutS} s`, { cause: error });
  }
}
