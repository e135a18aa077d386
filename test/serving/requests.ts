import { Agent, type IncomingMessage, request } from 'node:http';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** Local port of the connection: equal when it was used again. */
  readonly localPort: number;
}

/** Sends one request and reads the whole answer. A body that is no text is sent as JSON. */
export function send(
  url: string,
  {
    body,
    method = body === undefined ? 'GET' : 'POST',
    agent,
  }: { body?: unknown; method?: string; agent?: Agent } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, ...(agent ? { agent } : {}) }, (response) => {
      const localPort = response.socket.localPort ?? 0;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, localPort }),
      );
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  });
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
export type Json = any;

export const sendJson = async (url: string, body?: unknown): Promise<{ status: number; json: Json }> => {
  const { status, text } = await send(url, body === undefined ? {} : { body });
  return { status, json: JSON.parse(text) };
};

/** The events of a stream: parsed JSON, and `[DONE]` as text. */
export const eventsOf = (text: string): Json[] =>
  text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => block.replace(/^data: /, ''))
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)));

/** A request that is cut off by the client once the first bytes of the answer are there. */
export function sendAndLeave(url: string, body: unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent: new Agent() }, (response) => {
      response.once('data', () => {
        sent.destroy();
        resolve();
      });
      response.on('error', () => {});
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

/** Waits until `condition` holds; fails after ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('it did not happen within ten seconds');
}
