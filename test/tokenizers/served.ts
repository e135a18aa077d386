import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';

type Answer = readonly [status: number, body: unknown];
type Route = (body: Record<string, unknown>) => Promise<Answer> | Answer;

/** A real HTTP server on loopback that answers JSON by path, counts calls and the most of them at once. */
export async function serve(routes: Readonly<Record<string, Route>>) {
  const seen = { calls: 0, atOnce: 0, mostAtOnce: 0, sockets: new Set<unknown>() };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    seen.calls++;
    seen.mostAtOnce = Math.max(seen.mostAtOnce, ++seen.atOnce);
    seen.sockets.add(request.socket);
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    await pause(2);
    const route = routes[request.url ?? ''];
    const [status, body] = route ? await route(text === '' ? {} : JSON.parse(text)) : [404, { detail: 'Not Found' }];
    seen.atOnce--;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Special tokens of the built-in vocabulary, which stand behind the base. */
const addedCount = 3;

/** What a server with the built-in vocabulary says: one special token in front where those are wanted. */
function speak(tokenizer: Tokenizer) {
  return {
    encode: async (text: string, special: boolean): Promise<readonly number[]> => {
      const [ids] = await tokenizer.encode([text]);
      return [...(special ? [tokenizer.vocabSize] : []), ...(ids as readonly number[])];
    },
    /** Undefined for an id that does not exist. */
    decode: async (ids: readonly number[]): Promise<string | undefined> =>
      ids.every((id) => id < tokenizer.vocabSize + addedCount) ? (await tokenizer.decode([ids]))[0] : undefined,
  };
}

/** Routes as vLLM has them: keys that it does not know are ignored, one that is missing is refused. */
export function likeVllm(tokenizer: Tokenizer): Record<string, Route> {
  const { encode, decode } = speak(tokenizer);
  return {
    '/v1/models': () => [200, { object: 'list', data: [{ id: 'm', root: 'm', max_model_len: 4096 }] }],
    '/tokenize': async ({ prompt, add_special_tokens = true }) => {
      if (typeof prompt !== 'string') return [400, { error: { message: 'prompt: field required' } }];
      const tokens = await encode(prompt, add_special_tokens === true);
      return [200, { count: tokens.length, max_model_len: 4096, tokens }];
    },
    '/detokenize': async ({ tokens }) => [200, { prompt: (await decode(tokens as number[])) ?? '' }],
  };
}

/** Routes as llama-server has them: without `content` there is nothing to do, the vocabulary is padded. */
export function likeLlamaServer(tokenizer: Tokenizer): Record<string, Route> {
  const { encode, decode } = speak(tokenizer);
  const padding = tokenizer.vocabSize + addedCount;
  const n_vocab = padding + 2;
  return {
    '/v1/models': () => [200, { object: 'list', data: [{ id: 'm', meta: { n_vocab } }] }],
    '/tokenize': async ({ content, add_special = false }) => [
      200,
      { tokens: typeof content === 'string' ? await encode(content, add_special === true) : [] },
    ],
    '/detokenize': async ({ tokens }) => {
      const ids = tokens as number[];
      const padded = ids.length === 1 && (ids[0] as number) >= padding && (ids[0] as number) < n_vocab;
      const content = padded ? `[PAD${ids[0]}]` : await decode(ids);
      return content === undefined ? [500, { error: { message: 'out of range' } }] : [200, { content }];
    },
  };
}
