/** What a stream says, as bytes: made once, so that sending an event costs no more than the write. */
export interface Events {
  /**
   * The bytes of `count` events of an answer from number `from` on, framed as HTTP chunks: with the head of the
   * response before the first one (and the event with the role), and everything that ends a stream after the last one.
   * Those from the middle of an answer are made once and shared: nobody may write into them.
   */
  bytes(from: number, count: number, answer: AnswerShape): Buffer;
}

/** How long an answer is, and what its end reports. */
export interface AnswerShape {
  readonly tokens: number;
  readonly events: number;
  /** Of every event but the last, which has what is left. */
  readonly tokensPerEvent: number;
  readonly promptTokens: number;
  readonly includeUsage: boolean;
}

interface EventOptions {
  readonly chat: boolean;
  readonly model: string;
  readonly role: boolean;
  readonly tokensPerEvent: number;
  /** Most events that are asked for at once. */
  readonly eventsPerWrite: number;
}

/** Each is one token in the usual vocabularies. */
const words = [' time', ' will', ' show', ' how', ' long', ' each', ' word', ' took'] as const;

const responseHead =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n' +
  'transfer-encoding: chunked\r\n\r\n';

/** The events of one of the two dialects. */
export function eventsOf({ chat, model, role, tokensPerEvent, eventsPerWrite }: EventOptions): Events {
  const opening = JSON.stringify({
    id: chat ? 'chatcmpl-3f1c5d0a9b7e4862a1d4c6f8e0b29357' : 'cmpl-3f1c5d0a9b7e4862a1d4c6f8e0b29357',
    object: chat ? 'chat.completion.chunk' : 'text_completion',
    created: Math.floor(Date.now() / 1000),
    model,
  }).slice(0, -1);
  const chunk = (choices: string, usage = ''): string => framed(`${opening},"choices":[${choices}]${usage}}`);
  const rolePart =
    chat && role
      ? chunk('{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}')
      : '';

  /** One event: `count` words from number `from` on. */
  const event = (from: number, count: number, finish: string | null): string => {
    let text = '';
    for (let i = from; i < from + count; i++) text += words[i % words.length];
    const reason = JSON.stringify(finish);
    return chunk(
      chat
        ? `{"index":0,"delta":{"content":"${text}"},"logprobs":null,"finish_reason":${reason}}`
        : `{"index":0,"text":"${text}","logprobs":null,"finish_reason":${reason},"stop_reason":null}`,
    );
  };
  const full = (from: number, count: number): string => {
    let text = '';
    for (let i = from; i < from + count; i++) text += event((i * tokensPerEvent) % words.length, tokensPerEvent, null);
    return text;
  };
  const end = (last: number, { tokens, promptTokens, includeUsage }: AnswerShape): string => {
    const from = last * tokensPerEvent;
    const usage = {
      prompt_tokens: promptTokens,
      total_tokens: promptTokens + tokens,
      completion_tokens: tokens,
    };
    const usagePart = includeUsage ? chunk('', `,"usage":${JSON.stringify(usage)}`) : '';
    return `${event(from, tokens - from, 'length')}${usagePart}${framed('[DONE]')}0\r\n\r\n`;
  };

  const middles: (Buffer | undefined)[] = new Array(words.length * (eventsPerWrite + 1)).fill(undefined);
  const firsts: (Buffer | undefined)[] = new Array(eventsPerWrite + 1).fill(undefined);

  return {
    bytes(from, count, answer) {
      if (from + count === answer.events) {
        const before = from === 0 ? responseHead + rolePart : '';
        return Buffer.from(before + full(from, count - 1) + end(answer.events - 1, answer));
      }
      if (from === 0) {
        firsts[count] ??= Buffer.from(responseHead + rolePart + full(0, count));
        return firsts[count] as Buffer;
      }
      // The words repeat, so events that begin at the same word are the same bytes.
      const slot = (from % words.length) * (eventsPerWrite + 1) + count;
      middles[slot] ??= Buffer.from(full(from, count));
      return middles[slot] as Buffer;
    },
  };
}

function framed(data: string): string {
  const event = `data: ${data}\n\n`;
  return `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
}
