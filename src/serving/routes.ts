import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Answer, chatDialect, type Dialect, openAnswer, sendJson, textDialect } from './answer.ts';
import { readJson } from './body.ts';
import { type Counters, metricsText } from './counters.ts';
import { Refusal } from './refusal.ts';
import { chatBody, checked, completionBody, detokenizeBody, type GenerationBody, tokenizeBody } from './requests.ts';
import type { ChatMessage, TokenSource } from './source.ts';

/** What the routes work on. */
export interface Context {
  readonly source: TokenSource;
  readonly counters: Counters;
  /** Answers that are being written. */
  readonly answers: Set<Answer>;
  readonly maxBodyBytes: number;
  /** When the source was attached, seconds since 1970. */
  readonly createdAtS: number;
}

export type Route = (context: Context, request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Routes by path and then method. */
export type Routes = Readonly<Record<string, Readonly<Record<string, Route>>>>;

/** OpenAI's default for completions; a chat answer may fill the context. */
const completionMaxTokens = 16;

const chat: Route = async (context, request, response) => {
  const body = checked(chatBody, await readJson(request, context.maxBodyBytes));
  checkModelName(context.source, body.model);
  const messages: ChatMessage[] = body.messages.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? content : (content ?? []).map((part) => part.text).join(''),
  }));
  // Rendering takes longer than in proportion to the messages, and nobody else is served meanwhile. Each message is at
  // least one token, so this many cannot fit.
  if (messages.length > context.source.maxModelLen) {
    throw new Refusal(
      400,
      'context_length_exceeded',
      `${messages.length} messages are at least as many tokens; a request may have ${context.source.maxModelLen}`,
      'messages',
    );
  }
  const prompt = await context.source.chatPrompt(messages);
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? undefined;
  generate(context, response, chatDialect, body, prompt, maxTokens);
};

const completions: Route = async (context, request, response) => {
  const body = checked(completionBody, await readJson(request, context.maxBodyBytes));
  checkModelName(context.source, body.model);
  const given = Array.isArray(body.prompt) && typeof body.prompt[0] !== 'number' ? body.prompt[0] : body.prompt;
  const prompt =
    typeof given === 'string'
      ? await context.source.tokenize(given, true)
      : checkedIds(context.source, (given ?? []) as number[], 'prompt');
  generate(context, response, textDialect, body, prompt, body.max_tokens ?? completionMaxTokens);
};

/** Checks that prompt and answer fit, then starts the generation; the answer is written as its tokens come. */
function generate(
  { source, counters, answers }: Context,
  response: ServerResponse,
  dialect: Dialect,
  body: GenerationBody,
  promptTokens: Uint32Array,
  maxTokens: number | undefined,
): void {
  const asked = maxTokens ?? 1;
  if (promptTokens.length === 0) throw new Refusal(400, 'empty_prompt', 'the prompt has no tokens', 'prompt');
  if (promptTokens.length + asked > source.maxModelLen) {
    throw new Refusal(
      400,
      'context_length_exceeded',
      `the prompt has ${promptTokens.length} tokens and ${asked} are asked for, together ` +
        `${promptTokens.length + asked}; a request may have ${source.maxModelLen}. Shorten the prompt, ask for fewer ` +
        'tokens, or start the engine with a longer context',
      'prompt',
    );
  }
  // A client that is gone already gives no event any more.
  if (response.destroyed) return;
  const answer = openAnswer(
    response,
    {
      dialect,
      model: source.modelName,
      promptTokens: promptTokens.length,
      stream: body.stream ?? false,
      includeUsage: body.stream_options?.include_usage ?? false,
      stops: typeof body.stop === 'string' ? [body.stop] : (body.stop ?? []),
    },
    counters,
    (closed) => answers.delete(closed),
  );
  answers.add(answer);
  const generation = source.start(
    {
      promptTokens,
      maxTokens: maxTokens ?? source.maxModelLen - promptTokens.length,
      ignoreEos: body.ignore_eos ?? false,
      temperature: body.temperature ?? 1,
      topP: body.top_p ?? 1,
      seed: typeof body.seed === 'number' ? body.seed >>> 0 : undefined,
    },
    answer.sink,
  );
  answer.onCancel = () => generation.cancel();
}

const tokenize: Route = async ({ source, maxBodyBytes }, request, response) => {
  const body = checked(tokenizeBody, await readJson(request, maxBodyBytes));
  checkModelName(source, body.model);
  const tokens = Array.from(await source.tokenize(body.prompt, body.add_special_tokens ?? true));
  sendJson(response, 200, { tokens, count: tokens.length, max_model_len: source.maxModelLen });
};

const detokenize: Route = async ({ source, maxBodyBytes }, request, response) => {
  const body = checked(detokenizeBody, await readJson(request, maxBodyBytes));
  checkModelName(source, body.model);
  sendJson(response, 200, { prompt: await source.detokenize(checkedIds(source, body.tokens, 'tokens')) });
};

const models: Route = ({ source, createdAtS }, _request, response) =>
  sendJson(response, 200, {
    object: 'list',
    data: [
      {
        id: source.modelName,
        object: 'model',
        created: createdAtS,
        owned_by: 'servetune',
        max_model_len: source.maxModelLen,
        meta: { n_vocab: source.vocabSize, n_ctx_train: source.trainContext },
      },
    ],
  });

const serverInfo: Route = ({ source }, _request, response) =>
  sendJson(response, 200, { version: source.version, model: source.modelName, settings: source.settings });

const metrics: Route = ({ source, counters }, _request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  response.end(metricsText(counters, source.stats()));
};

/** Every route that needs a source, by path and then method. `/health` answers without one. */
export const routes: Routes = {
  '/health': { GET: (_context, _request, response) => sendJson(response, 200, { status: 'ok' }) },
  '/version': { GET: ({ source }, _request, response) => sendJson(response, 200, { version: source.version }) },
  '/v1/models': { GET: models },
  '/v1/chat/completions': { POST: chat },
  '/v1/completions': { POST: completions },
  '/tokenize': { POST: tokenize },
  '/detokenize': { POST: detokenize },
  '/server_info': { GET: serverInfo },
  '/metrics': { GET: metrics },
};

function checkModelName(source: TokenSource, name: string | null | undefined): void {
  if (name === undefined || name === null || name === source.modelName) return;
  throw new Refusal(404, 'model_not_found', `there is no model '${name}' here, only '${source.modelName}'`, 'model');
}

function checkedIds(source: TokenSource, ids: readonly number[], param: string): Uint32Array {
  const wrong = ids.find((id) => id >= source.vocabSize);
  if (wrong === undefined) return Uint32Array.from(ids);
  throw new Refusal(
    400,
    'bad_token_id',
    `token id ${wrong} is not in the vocabulary, whose ids are below ${source.vocabSize}`,
    param,
  );
}
