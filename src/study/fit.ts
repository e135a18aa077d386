import type { Endpoint } from '../endpoints/endpoint.ts';
import { InputError } from '../kit/errors.ts';
import type { RequestSpec } from '../records/request.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { type FoundServer, routeOf } from './target.ts';

/** How much a request may need, and what it needs besides prompt and answer. Tokens. */
export interface Room {
  /** Most that prompt and answer may have together. */
  readonly maxModelLen: number;
  /** What the server's chat template adds to a prompt; null where that is not known. */
  readonly addedTokens: number | null;
  /** Whether there is an answer of tokens. */
  readonly generates: boolean;
}

/**
 * Tokens that the server's chat template adds to a prompt; 0 where the dialect has none, null where it cannot be known.
 * Asked of the model's own template, else of the server (`/tokenize` takes messages in vLLM).
 */
export async function templateTokens(
  endpoint: Pick<Endpoint, 'templates'>,
  server: Pick<FoundServer, 'model'> & { readonly baseUrl: URL; readonly headers: Readonly<Record<string, string>> },
  tokenizer: Tokenizer | null,
  signal: AbortSignal,
): Promise<number | null> {
  if (!endpoint.templates) return 0;
  const word = 'measure';
  const messages = [{ role: 'user', content: word }];
  const own = await byOwnTemplate(word, tokenizer, signal);
  if (own !== null) return own;
  const count = async (body: object): Promise<number> => {
    const answer = await fetch(routeOf(server.baseUrl, 'tokenize'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...server.headers },
      body: JSON.stringify({ model: server.model, ...body }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
    });
    const { count: said, tokens } = (await answer.json()) as { count?: unknown; tokens?: unknown };
    if (typeof said === 'number') return said;
    return Array.isArray(tokens) ? tokens.length : Number.NaN;
  };
  try {
    const added = (await count({ messages })) - (await count({ prompt: word, add_special_tokens: false }));
    return Number.isInteger(added) && added >= 0 ? added : null;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

async function byOwnTemplate(word: string, tokenizer: Tokenizer | null, signal: AbortSignal): Promise<number | null> {
  if (!tokenizer?.chatTemplate) return null;
  let rendered: string;
  try {
    rendered = tokenizer.chatTemplate.render([{ role: 'user', content: word }], { addGenerationPrompt: true });
  } catch {
    return null; // some templates want more than a question
  }
  const [bare = [], whole = []] = await tokenizer.encode([word, rendered], signal);
  return whole.length - bare.length;
}

/** What requests would not fit into the server's context: the sentence for people, or undefined when all do. */
export function overlong(
  requests: readonly RequestSpec[],
  { maxModelLen, addedTokens, generates }: Room,
): { readonly message: string; readonly hint: string } | undefined {
  const added = addedTokens ?? 0;
  const needs = requests.map((r) => r.promptTokens + added + (generates ? r.outputTokens : 0));
  const over = needs.filter((tokens) => tokens > maxModelLen).length;
  if (over === 0) return undefined;
  const most = needs.reduce((a, b) => Math.max(a, b), 0);
  const parts = [
    ...(generates ? ['with the answer'] : []),
    ...(addedTokens === null ? ['the chat template not counted'] : []),
    ...(added > 0 ? [`${added} of them the chat template’s`] : []),
  ];
  return {
    message: `${over} of ${requests.length} requests need more than the ${maxModelLen} tokens that the server takes: up to ${[most, ...parts].join(', ').replace(', with', ' with')}`,
    hint: `shorten prompts${generates ? ' or answers' : ''} by ${most - maxModelLen} tokens, or start the server with a maximum length of ${most}`,
  };
}

/** Throws an InputError when a request is longer than the server takes; nothing has been sent by then. */
export function checkFit(requests: readonly RequestSpec[], room: Room): void {
  const problem = overlong(requests, room);
  if (problem) throw new InputError([{ place: 'prompt and output lengths', ...problem }]);
}
