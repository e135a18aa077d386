import { endpointNamed } from '../endpoints/table.ts';
import { ServetuneError } from '../kit/errors.ts';
import { type Arrivals, atOnce } from '../load/arrivals.ts';
import { type LoadPlan, type LoadResult, runLoad } from '../load/runner.ts';
import type { RequestRecord, RequestSpec } from '../records/request.ts';
import { type CoresUsed, watchCores } from './cores-used.ts';
import type { SelfServer } from './self-server.ts';

/** How the client is run against the built-in server. */
export interface SelfLoadContext {
  /** Threads of their own that send the load; absent, the caller's sends it. */
  readonly workers?: number;
  readonly signal: AbortSignal;
}

/** Who computed during a load, in cores, and how promptly the client's event loop turned. */
export interface Effort {
  /** Of this process, all threads. */
  readonly clientCores: number;
  readonly serverCores: number;
  /** Of everybody else; null where the system does not tell. */
  readonly otherCores: number | null;
  /** p99, of the thread that was worst. */
  readonly loopDelayP99S: number;
  /** Token-bearing events a read of a socket; null of none. */
  readonly eventsPerRead: number | null;
}

/** What an unpaced load came to. */
export interface Throughput extends Effort {
  /** Answers that ended; may be 0 where they are long and the time was short. */
  readonly requestsPerS: number;
  /** Token-bearing events a second; each has one token. */
  readonly eventsPerS: number;
}

/** How the unpaced load looks that asks for as much as the client can read. */
export interface ThroughputLoad {
  /** Of each answer. */
  readonly tokens: number;
  readonly streams: number;
  readonly durationS: number;
}

/** More requests a second than one server process can answer: the pool must not run out. */
const mostRequestsPerS = 100_000;
/** Left out at the beginning, while code is compiled and buffers grow, as a share of the duration. */
const warmUpShare = 0.2;
/** Time to finish what is under way. On a machine that gives no time at all the load ends without that. */
const finishS = 5;

const backend = 'openai-chat';

/**
 * Keeps a number of answers under way for a while and counts what is read. Throws a ServetuneError `self_test_failed`
 * when a request failed, or nothing was read; the signal's reason when it aborts.
 */
export async function measureThroughput(
  server: SelfServer,
  { tokens, streams, durationS }: ThroughputLoad,
  context: SelfLoadContext,
): Promise<Throughput> {
  const spec = specOf(tokens);
  await server.reset();
  const cores = watchCores();
  const load = await sendTo(
    server,
    {
      requests: new Array<RequestSpec>(Math.ceil(mostRequestsPerS * durationS)).fill(spec),
      minRequests: 1,
      minDurationS: durationS,
      maxConcurrency: streams,
      arrivals: atOnce,
      loadTimeoutS: durationS + finishS,
    },
    context,
  );
  const used = cores.read();
  const { cpuS } = await server.stats();
  const failure = firstFailure(load);
  if (failure !== null) throw failed(failure);
  const fromS = durationS * warmUpShare;
  const isCounted = (timeS: number): boolean => timeS > fromS && timeS <= durationS;
  let [requests, events] = [0, 0];
  for (const { endS, outcome, tokenTimesS } of load.records) {
    if (outcome === 'ok' && isCounted(endS)) requests++;
    for (const timeS of tokenTimesS) if (isCounted(timeS)) events++;
  }
  if (events === 0) throw failed(`nothing was read in ${durationS} s`);
  return {
    requestsPerS: requests / (durationS - fromS),
    eventsPerS: events / (durationS - fromS),
    ...effortOf(load, used, cpuS),
  };
}

/** Sends a load to the built-in server. */
export async function sendTo(
  { baseUrl }: SelfServer,
  plan: Omit<LoadPlan, 'ask'>,
  { workers, signal }: SelfLoadContext,
  onElapsed?: (elapsedS: number) => void,
): Promise<LoadResult> {
  const load = await runLoad(
    { baseUrl, endpoint: endpointNamed(backend), model: 'paced' },
    { ...plan, ask: { sampling: {}, ignoreEos: true, compat: 'servetune' } },
    { signal, ...(workers === undefined ? {} : { workers }), onProgress: ({ elapsedS }) => onElapsed?.(elapsedS) },
  );
  signal.throwIfAborted();
  return load;
}

export const specOf = (tokens: number): RequestSpec => ({
  index: 0,
  prompt: 'How long is a piece of string?',
  promptTokens: 8,
  outputTokens: tokens,
});

/** Requests that are due one by one, `gapS` apart. */
export const evenly = (gapS: number): Arrivals => ({
  requestRate: 1 / gapS,
  burstiness: Number.POSITIVE_INFINITY,
  seed: 0,
});

/** `serverCpuS` is over the same stretch as `used`. */
export function effortOf({ client }: LoadResult, used: CoresUsed, serverCpuS: number): Effort {
  const { elapsedS, ownCpuS, allCpuS } = used;
  return {
    clientCores: ownCpuS / elapsedS,
    serverCores: serverCpuS / elapsedS,
    otherCores: allCpuS === null ? null : Math.max(0, allCpuS - ownCpuS - serverCpuS) / elapsedS,
    loopDelayP99S: client.loopDelayP99S,
    eventsPerRead: client.eventsPerRead ?? null,
  };
}

/** Why a load against the built-in server did not go well; what was cut off at its end does not count. */
export function firstFailure({ records }: LoadResult): string | null {
  let count = 0;
  let first: RequestRecord | undefined;
  for (const record of records) {
    if (record.outcome === 'ok' || record.outcome === 'cancelled') continue;
    count++;
    first ??= record;
  }
  return (first && `${count} of ${records.length} requests failed: ${first.error ?? first.outcome}`) || null;
}

const failed = (message: string): ServetuneError =>
  new ServetuneError('self_test_failed', `the self-test could not be measured: ${message}`, {
    hint: 'end what else runs on this machine, and look at its limits of open files (ulimit -n)',
  });
