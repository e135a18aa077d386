import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Counters, Finish } from './counters.ts';
import { errorBody } from './refusal.ts';
import type { TokenSink } from './source.ts';
import { type StopStrings, stopStrings } from './stop-strings.ts';

type Reason = 'stop' | 'length';

/** How the two OpenAI APIs write the same answer. */
export interface Dialect {
  readonly idPrefix: string;
  readonly object: string;
  readonly chunkObject: string;
  /** The choice of the chunk that opens a stream, if there is one. */
  readonly opening: string | undefined;
  /** JSON of a chunk's choice before and after the JSON of its text. */
  readonly text: readonly [string, string];
  finish(reason: Reason): string;
  whole(text: string, reason: Reason): object;
}

/** `POST /v1/chat/completions` */
export const chatDialect: Dialect = {
  idPrefix: 'chatcmpl-',
  object: 'chat.completion',
  chunkObject: 'chat.completion.chunk',
  opening: '{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}',
  text: ['{"index":0,"delta":{"content":', '},"logprobs":null,"finish_reason":null}'],
  finish: (reason) => `{"index":0,"delta":{},"logprobs":null,"finish_reason":"${reason}"}`,
  whole: (content, finish_reason) => ({
    index: 0,
    message: { role: 'assistant', content },
    logprobs: null,
    finish_reason,
  }),
};

/** `POST /v1/completions` */
export const textDialect: Dialect = {
  idPrefix: 'cmpl-',
  object: 'text_completion',
  chunkObject: 'text_completion',
  opening: undefined,
  text: ['{"index":0,"text":', ',"logprobs":null,"finish_reason":null}'],
  finish: (reason) => `{"index":0,"text":"","logprobs":null,"finish_reason":"${reason}"}`,
  whole: (text, finish_reason) => ({ index: 0, text, logprobs: null, finish_reason }),
};

export interface AnswerOptions {
  readonly dialect: Dialect;
  readonly model: string;
  readonly promptTokens: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly stops: readonly string[];
}

/** The answer to one request while it is being written. */
export interface Answer {
  readonly sink: TokenSink;
  /** Called as soon as no more tokens are wanted: the client went away, or a stop string was found. */
  set onCancel(cancel: () => void);
  /** Ends it before its time, with an error that the client sees. */
  abort(message: string): void;
}

/** Writes one answer to `response`, as a stream of events or whole; `onClosed` is called once, at its end. */
export function openAnswer(
  response: ServerResponse,
  options: AnswerOptions,
  counters: Counters,
  onClosed: (answer: Answer) => void,
): Answer {
  const { dialect, promptTokens } = options;
  const stops: StopStrings | undefined = options.stops.length > 0 ? stopStrings(options.stops) : undefined;
  const head = {
    id: dialect.idPrefix + randomBytes(12).toString('hex'),
    object: options.stream ? dialect.chunkObject : dialect.object,
    created: Math.floor(Date.now() / 1000),
    model: options.model,
  };
  const writer = options.stream ? streamed(response, head, options) : whole(response, head, dialect);
  let outputTokens = 0;
  let cachedTokens: number | undefined;
  let open = true;
  let cancelled = false;
  let cancel: (() => void) | undefined;

  const { socket } = response.req;
  const gone = () => {
    if (!open) return;
    stopTokens();
    close('cancelled');
  };
  const close = (finish: Finish) => {
    open = false;
    socket.off('close', gone);
    counters.finished[finish]++;
    onClosed(answer);
  };
  const stopTokens = () => {
    cancelled = true;
    cancel?.();
  };
  const finish = (reason: Reason) => {
    if (!open) return;
    const rest = stops?.rest();
    if (rest) writer.text(rest);
    writer.end(reason, {
      prompt_tokens: promptTokens,
      completion_tokens: outputTokens,
      total_tokens: promptTokens + outputTokens,
      ...(cachedTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cachedTokens } }),
    });
    close(reason);
  };
  const fail = (message: string, status = 500) => {
    if (!open) return;
    writer.fail(message, status);
    close('error');
  };

  const answer: Answer = {
    sink: {
      token(text, count = 1) {
        if (!open) return;
        if (outputTokens === 0) counters.promptTokens += promptTokens;
        outputTokens += count;
        counters.generationTokens += count;
        if (stops === undefined) {
          writer.text(text);
          return;
        }
        const found = stops.push(text);
        writer.text(found.text);
        if (!found.stopped) return;
        stopTokens();
        finish('stop');
      },
      cached(tokens) {
        cachedTokens = tokens;
      },
      end: finish,
      fail,
    },
    set onCancel(callback: () => void) {
      cancel = callback;
      if (cancelled) callback();
    },
    abort(message) {
      stopTokens();
      fail(message, 503);
    },
  };
  response.on('close', gone);
  // A response that waits behind another one of the same connection (pipelining) is not told that the client went away.
  socket.once('close', gone);
  return answer;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number };
}

interface Writer {
  text(text: string): void;
  end(reason: Reason, usage: Usage): void;
  fail(message: string, status: number): void;
}

/**
 * One server-sent event a token, written without building objects: this runs for every token of every request. The
 * header goes out with the first token, so that a failure before it still gets a status of its own.
 */
function streamed(response: ServerResponse, head: object, { dialect, includeUsage }: AnswerOptions): Writer {
  const chunkHead = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`;
  const chunkTail = includeUsage ? '],"usage":null}\n\n' : ']}\n\n';
  const before = chunkHead + dialect.text[0];
  const after = dialect.text[1] + chunkTail;
  let begun = false;

  const begin = () => {
    begun = true;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    if (dialect.opening !== undefined) response.write(chunkHead + dialect.opening + chunkTail);
  };
  return {
    text(text) {
      if (!begun) begin();
      response.write(before + JSON.stringify(text) + after);
    },
    end(reason, usage) {
      if (!begun) begin();
      const usageChunk = includeUsage ? `${chunkHead}],"usage":${JSON.stringify(usage)}}\n\n` : '';
      response.end(`${chunkHead}${dialect.finish(reason)}${chunkTail}${usageChunk}data: [DONE]\n\n`);
    },
    fail(message, status) {
      if (begun) response.end(`data: ${JSON.stringify(errorBody(status, 'engine_failed', message))}\n\n`);
      else sendJson(response, status, errorBody(status, 'engine_failed', message));
    },
  };
}

function whole(response: ServerResponse, head: object, dialect: Dialect): Writer {
  let answer = '';
  return {
    text(text) {
      answer += text;
    },
    end(reason, usage) {
      sendJson(response, 200, { ...head, choices: [dialect.whole(answer, reason)], usage });
    },
    fail(message, status) {
      sendJson(response, status, errorBody(status, 'engine_failed', message));
    },
  };
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
