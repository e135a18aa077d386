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
  const url = new URL('v1/models', baseUrl.pathname.endsWith('/') ? baseUrl : new URL(`${baseUrl.href}/`));
  let names: readonly string[] | null = null;
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]) });
    names = response.ok ? namesIn(await response.json().catch(() => null)) : null;
  } catch (error) {
    signal.throwIfAborted();
    throw new InputError([nothingListens(baseUrl, error)]);
  }
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

function namesIn(body: unknown): readonly string[] | null {
  const data = (body as { data?: unknown } | null)?.data;
  if (!Array.isArray(data)) return null;
  return data.map((entry: { id?: unknown }) => entry.id).filter((id): id is string => typeof id === 'string');
}

function nothingListens(baseUrl: URL, error: unknown): Problem {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return {
    place: '--base-url',
    message: `no server answers at ${baseUrl.href} (${messageOf(cause)})`,
    hint: 'start it first, or give the address with --base-url, or --host and --port',
  };
}
