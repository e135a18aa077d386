import { finish, type Replay, type Script, type Seen, startReplay } from '../load/replay.ts';

/** What a scripted server says of itself, and how it answers. */
export interface ServerScript {
  /** Its model list; null has none (404). */
  readonly models?: readonly { readonly id: string; readonly root?: string; readonly max_model_len?: number }[] | null;
  /** Tokens that it generates whatever it is asked for; default: as many as asked for. */
  readonly stopsAfter?: number;
  /** Between two tokens, milliseconds. */
  readonly everyMs?: number;
  /** Whether the last message tells the usage. */
  readonly usage?: boolean;
  readonly promptTokens?: number;
  /** A script of its own for some requests; undefined answers as usual. */
  readonly instead?: (seen: Seen, body: Body) => Script | undefined;
  readonly host?: string;
  readonly port?: number;
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** The body of a request, as much of it as tests look at. */
export interface Body {
  readonly model?: string;
  readonly prompt?: string;
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
  readonly input?: string;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly [key: string]: unknown;
}

/** Requests that generate or embed, as they arrived. */
export const asked = (server: Replay): readonly Seen[] =>
  server.seen.filter(({ url }) => /\/(completions|embeddings)(\?|$)/.test(url));

export const bodies = (server: Replay): readonly Body[] => asked(server).map(({ body }) => JSON.parse(body) as Body);

/** How often a path was asked for. */
export const calls = (server: Replay, path: string): number => server.seen.filter(({ url }) => url === path).length;

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const json = (value: unknown, status = 200): Script => ({
  status,
  headers: { 'content-type': 'application/json' },
  steps: [{ afterMs: 0, bytes: JSON.stringify(value) }],
});
/** An error in vLLM's layout. */
export const refusal = (status: number, message: string): Script =>
  json({ error: { message, type: 'BadRequestError' } }, status);

/** A real server on loopback that speaks enough of OpenAI's API to be measured. */
export function openAiServer(script: ServerScript = {}): Promise<Replay> {
  const { models = [{ id: 'tiny-qwen3', root: 'tiny-qwen3' }], host, port, tls } = script;
  const answer = (_: number, seen: Seen): Script => {
    const body = (seen.body === '' ? {} : JSON.parse(seen.body)) as Body;
    const own = script.instead?.(seen, body);
    if (own) return own;
    const path = seen.url.replace(/\?.*$/, '');
    if (path.endsWith('/v1/models')) {
      return models === null ? refusal(404, 'Not Found') : json({ object: 'list', data: models });
    }
    if (path.endsWith('_profile')) return json({});
    if (path.endsWith('/embeddings')) {
      return json({ data: [{ embedding: [0.5] }], usage: { prompt_tokens: script.promptTokens ?? 21 } });
    }
    return path.endsWith('completions') ? stream(script, body) : refusal(404, 'Not Found');
  };
  return startReplay(answer, { ...(host ? { host } : {}), ...(port ? { port } : {}), ...(tls ? { tls } : {}) });
}

function stream({ stopsAfter, everyMs = 2, usage = true, promptTokens = 21 }: ServerScript, body: Body): Script {
  const wanted = body.max_completion_tokens ?? body.max_tokens ?? 16;
  const count = Math.min(stopsAfter ?? wanted, wanted);
  const choice = { index: 0, text: ' the', delta: { content: ' the' }, finish_reason: null };
  const counted = { choices: [], usage: { prompt_tokens: promptTokens, completion_tokens: count } };
  const end = `${finish}${usage ? event(counted) : ''}data: [DONE]\n\n`;
  const tokens = Array.from({ length: count }, () => ({ afterMs: everyMs, bytes: event({ choices: [choice] }) }));
  return { steps: [...tokens, { afterMs: everyMs, bytes: end }] };
}
