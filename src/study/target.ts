import { boundedText } from '../kit/bounded-text.ts';
import { InputError, messageOf, type Problem, systemCode } from '../kit/errors.ts';

/** A server that runs already, as a load needs to know it. */
export interface FoundServer {
  /** The model's name to send. */
  readonly model: string;
  /** What the server loaded it from, where it tells. */
  readonly root?: string;
  /** Most tokens that prompt and answer may have together, where the server tells. */
  readonly maxModelLen?: number;
  /** It says that no engine stands behind it: every figure is predicted. */
  readonly simulated?: SimulatedServer;
  /** Sentences that the user should see. */
  readonly notes: readonly string[];
}

/** A server that simulates an engine, as `servetune sim serve` says in every answer. */
export interface SimulatedServer {
  /** Simulated seconds in one real second. */
  readonly timeScale: number;
}

/** Nobody answers there yet; later somebody might. */
export class NobodyThere extends InputError {}

/**
 * Finds out whether something serves at `baseUrl`, and under which name. Throws an InputError with the remedy when
 * nothing listens (`NobodyThere` where that may change), or when the model that was asked for is not served.
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
    throw unreachable(baseUrl, error);
  }
  if (answer.status === 401 || answer.status === 403) {
    throw new InputError([
      {
        place: '--base-url',
        message: `${url.href} answers ${answer.status}: ${body.slice(0, 200)}`,
        hint: 'put the key into OPENAI_API_KEY, or pass it with --header Authorization="Bearer KEY"',
      },
    ]);
  }
  if ([502, 503, 504].includes(answer.status)) {
    const message = `${url.href} answers ${answer.status}: ${body.slice(0, 200)}`;
    throw new NobodyThere([
      { place: '--base-url', message, hint: 'the server is not up yet, or what stands before it finds none' },
    ]);
  }
  const served = answer.ok ? modelsIn(body) : null;
  const simulated = simulatedIn(answer.headers);
  if (wanted === undefined) {
    const first = served?.[0];
    const notes = [`model ${first?.name}, as the server names it`];
    if (first !== undefined) return { ...found(first), ...simulated, notes };
    throw new InputError([
      {
        place: '--model',
        message: `${url.href} names no model`,
        hint: 'pass --model with the name that the server expects',
      },
    ]);
  }
  if (served === null) return { model: wanted, ...simulated, notes: [] };
  const known = served.find(({ name }) => name === wanted) ?? served.find(({ root }) => root === wanted);
  if (known !== undefined) {
    const other = known.name === wanted ? [] : [`model ${wanted} is served under the name ${known.name}`];
    return { ...found(known), ...simulated, notes: other };
  }
  throw new InputError([
    {
      place: '--model',
      message: `the server does not serve “${wanted}”`,
      hint: `it serves: ${served.map(({ name }) => name).join(', ') || 'nothing'}`,
    },
  ]);
}

/**
 * Where a server has one of its routes: below the path of its base URL, the query kept. A base URL that already ends in
 * `/v1`, as most clients want it, is one level higher.
 */
export function routeOf(baseUrl: URL, route: string): URL {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/${route}`;
  return url;
}

function simulatedIn(headers: Headers): Pick<FoundServer, 'simulated'> {
  if (headers.get('x-servetune-simulated') !== 'true') return {};
  const scale = Number(headers.get('x-servetune-time-scale'));
  return { simulated: { timeScale: scale > 0 ? scale : 1 } };
}

/** Where a server lists its models. */
export const modelListUrl = (baseUrl: URL): URL => routeOf(baseUrl, 'v1/models');

/** Most that is read of a model list. */
const longestList = 1 << 20;

/** The text of a model list. */
export const textOf = (response: Response): Promise<string> => boundedText(response, longestList);

/** An entry of a model list. */
export interface ServedModel {
  readonly name: string;
  /** What it was loaded from, where the server tells. */
  readonly root?: string;
  readonly maxModelLen?: number;
}

const found = ({ name, root, maxModelLen }: ServedModel): Omit<FoundServer, 'notes'> => ({
  model: name,
  ...(root === undefined ? {} : { root }),
  ...(maxModelLen === undefined ? {} : { maxModelLen }),
});

/** A model list; null where it is none. */
export function modelsIn(body: string): readonly ServedModel[] | null {
  let data: unknown;
  try {
    ({ data } = JSON.parse(body) as { data?: unknown });
  } catch {
    return null;
  }
  if (!Array.isArray(data)) return null;
  return data.flatMap((entry: { id?: unknown; root?: unknown; max_model_len?: unknown } | null): ServedModel[] => {
    if (typeof entry?.id !== 'string') return [];
    const { id: name, root, max_model_len: most } = entry;
    return [
      {
        name,
        ...(typeof root === 'string' ? { root } : {}),
        ...(typeof most === 'number' && Number.isInteger(most) && most > 0 ? { maxModelLen: most } : {}),
      },
    ];
  });
}

/** Why a server cannot be reached, by the system's code, where something other than starting it would help. */
const lasting: readonly (readonly [code: RegExp, hint: string])[] = [
  [
    /SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|CERT_/,
    'its certificate is not trusted: name its authority in NODE_EXTRA_CA_CERTS, or do not check it with --insecure',
  ],
  [/WRONG_VERSION_NUMBER|EPROTO/, 'what answers does not speak TLS: begin the address with http://'],
  [/^HPE_/, 'what answers does not speak HTTP: check the port'],
];

function unreachable(baseUrl: URL, error: unknown): InputError {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  const code = systemCode(cause) ?? '';
  const hint = lasting.find(([pattern]) => pattern.test(code))?.[1];
  const problem: Problem = {
    place: '--base-url',
    message: `no server answers at ${baseUrl.href} (${messageOf(cause) || code})`,
    hint: hint ?? 'start it first, or give the address with --base-url, or --host and --port',
  };
  return hint === undefined ? new NobodyThere([problem]) : new InputError([problem]);
}
