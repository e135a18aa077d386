import { InputError, messageOf, type Problem } from '../kit/errors.ts';

/** A server that runs already, as a load needs to know it. */
export interface FoundServer {
  /** The model's name to send. */
  readonly model: string;
  /** Sentences that the user should see. */
  readonly notes: readonly string[];
}

/**
 * Finds out whether something serves at `baseUrl`, and under which name. Throws an InputError with the remedy when
 * nothing listens, or when the model that was asked for is not served.
 */
export async function findServer(
  baseUrl: URL,
  wanted: string | undefined,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<FoundServer> {
  const url = modelListUrl(baseUrl);
  let answer: Response;
  let body: string;
  try {
    answer = await fetch(url, { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]) });
    body = await textOf(answer);
  } catch (error) {
    signal.throwIfAborted();
    throw new InputError([nothingListens(baseUrl, error)]);
  }
  if (answer.status === 401 || answer.status === 403) {
    throw new InputError([
      {
        place: '--base-url',
        message: `${url.href} answers ${answer.status}: ${body.slice(0, 200)}`,
        hint: 'put the key into OPENAI_API_KEY, or pass it with --header',
      },
    ]);
  }
  const names = answer.ok ? namesIn(body) : null;
  if (wanted === undefined) {
    if (names?.[0] !== undefined) return { model: names[0], notes: [`model ${names[0]}, as the server names it`] };
    throw new InputError([
      {
        place: '--model',
        message: `${url.href} names no model`,
        hint: 'pass --model with the name that the server expects',
      },
    ]);
  }
  if (names === null || names.includes(wanted)) return { model: wanted, notes: [] };
  throw new InputError([
    {
      place: '--model',
      message: `the server does not serve “${wanted}”`,
      hint: `it serves: ${names.join(', ') || 'nothing'}`,
    },
  ]);
}

/** Where a server lists its models, also below a base URL with a path. */
export const modelListUrl = (baseUrl: URL): URL =>
  new URL('v1/models', baseUrl.pathname.endsWith('/') ? baseUrl : new URL(`${baseUrl.href}/`));

/** Most that is read of a model list. */
const longestList = 1 << 20;

export async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  if (!response.body) return text;
  for await (const chunk of response.body) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > longestList) break;
  }
  return text;
}

/** Names of a model list; null where it is none. */
export function namesIn(body: string): readonly string[] | null {
  try {
    const { data } = JSON.parse(body) as { data?: unknown };
    if (!Array.isArray(data)) return null;
    return data.map((entry: { id?: unknown } | null) => entry?.id).filter((id): id is string => typeof id === 'string');
  } catch {
    return null;
  }
}

function nothingListens(baseUrl: URL, error: unknown): Problem {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return {
    place: '--base-url',
    message: `no server answers at ${baseUrl.href} (${messageOf(cause)})`,
    hint: 'start it first, or give the address with --base-url, or --host and --port',
  };
}
