import { endpointNamed } from '../../endpoints/table.ts';
import { now, sleep } from '../../kit/clock.ts';
import { exitCodes, ServetuneError } from '../../kit/errors.ts';
import type { LoadTarget } from '../../load/target.ts';
import type { RequestRecord, RequestSpec } from '../../records/request.ts';
import { answerOf } from '../../study/ready.ts';
import { type FoundServer, findServer, NobodyThere } from '../../study/target.ts';
import { askOf } from '../../study/workload.ts';
import type { BenchPlan } from './plan.ts';

/** Time between two attempts to reach a server that is not up yet, seconds. vLLM waits five. */
const retryS = 1;

/** How long to wait for a server, and who hears of it. */
export interface Waiting {
  /** On the clock of `kit/clock.ts`. */
  readonly deadlineS: number;
  readonly signal: AbortSignal;
  show(phase: string): void;
}

/** Where a server is, and what it wants to see in every request. */
export interface Access {
  /** Without user and password. */
  readonly baseUrl: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A key from the environment gives way to user and password in the URL, and both to `--header`. */
export function accessOf({ server }: BenchPlan, key: string | undefined): Access {
  const baseUrl = new URL(server.baseUrl);
  const { username, password } = baseUrl;
  baseUrl.username = '';
  baseUrl.password = '';
  const named = username !== '' || password !== '';
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = named ? `Basic ${Buffer.from(pair).toString('base64')}` : key ? `Bearer ${key}` : undefined;
  const given = Object.entries(server.headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { baseUrl, headers: { ...(authorization ? { authorization } : {}), ...Object.fromEntries(given) } };
}

/** The server, waited for as long as the ready check allows. */
export async function reachServer(
  { server, compat }: BenchPlan,
  { baseUrl, headers }: Access,
  { deadlineS, signal, show }: Waiting,
): Promise<FoundServer> {
  for (;;) {
    try {
      return await findServer(baseUrl, server.sentModel, headers, signal);
    } catch (error) {
      if (!(error instanceof NobodyThere)) throw error;
      if (now() + retryS > deadlineS) {
        const [problem] = error.problems;
        if (compat === 'servetune' || !problem) throw error;
        throw notReady(`${problem.message}`, problem.hint);
      }
      show(`waiting for ${baseUrl.href}`);
      await sleep(retryS, signal);
    }
  }
}

/**
 * Sends one request until it is answered well, as the older releases of vLLM do before a load. A server that refuses it
 * is not asked again: waiting would not mend that.
 */
export async function checkAnswer(
  { workload, request }: BenchPlan,
  target: Omit<LoadTarget, 'endpoint'>,
  spec: RequestSpec,
  { deadlineS, signal, show }: Waiting,
): Promise<void> {
  const { logprobs, extraBody } = request;
  const ask = { ...askOf(workload), ...(logprobs === undefined ? {} : { logprobs }) };
  for (;;) {
    // A server that takes the request and says nothing has as long as all attempts together.
    const more = { ...(extraBody === undefined ? {} : { extraBody }), requestTimeoutS: Math.max(1, deadlineS - now()) };
    const endpoint = endpointNamed(workload.backend);
    const record = await answerOf({ ...target, endpoint }, spec, ask, signal, more);
    if (record.outcome === 'ok') return;
    if (isRefusal(record) || now() + retryS > deadlineS) {
      throw notReady(
        `the request that is sent before the load failed: ${record.error}`,
        'look at the server’s log; --ready-check-timeout-sec 0 sends the load without it',
      );
    }
    show(`waiting for a first answer; so far: ${record.error}`);
    await sleep(retryS, signal);
  }
}

const isRefusal = ({ httpStatus = 0 }: RequestRecord): boolean =>
  httpStatus >= 400 && httpStatus < 500 && ![404, 408, 425, 429].includes(httpStatus);

/** vLLM ends with 1 then. */
const notReady = (message: string, hint?: string): ServetuneError =>
  new ServetuneError('not_ready', message, {
    ...(hint === undefined ? {} : { hint }),
    exitCode: exitCodes.failed,
  });
