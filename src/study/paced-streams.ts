import { now } from '../kit/clock.ts';
import { ascending, percentile } from '../kit/numbers.ts';
import type { LoadResult } from '../load/runner.ts';
import type { StreamLimit } from '../records/ceiling.ts';
import type { PacedStats } from '../serving/paced/tallies.ts';
import { watchCores } from './cores-used.ts';
import { type Effort, effortOf, evenly, firstFailure, type SelfLoadContext, sendTo, specOf } from './self-load.ts';
import type { SelfServer } from './self-server.ts';

/** The pace of each stream. */
export const streamPace = { ttftS: 0.2, itlS: 0.02 } as const;

/** From where on times are not read true, and who is to blame. */
export const trueLimits = {
  /** Mean time to first token: the client's, less the server's own and less what lay unread there. */
  ttftErrorS: 0.005,
  /** Inter-token latency, p99: the client's less the server's own. */
  itlErrorS: 0.005,
  /** From when an event was due to when the server sent it: more than that and the server is no clock to measure by. */
  serverLateP50S: 0.002,
  serverLateP99S: 0.02,
  /** A client that reads late though it used less than this of each of its cores was kept from running. */
  leastClientCores: 0.5,
} as const;

/** How the streams are sent. */
export interface PacedLoad {
  readonly streams: number;
  /** Of each answer. An answer lasts a time of its own, and then the next one takes its place. */
  readonly tokens: number;
  /** Of the whole load. */
  readonly durationS: number;
}

/** What was read of one number of streams, in seconds; null where nothing came. */
export interface PacedFigures extends Effort {
  readonly ttftErrorS: number | null;
  readonly itlErrorS: number | null;
  readonly serverLateP50S: number | null;
  readonly serverLateP99S: number | null;
  /** Absent when all went well. */
  readonly failure?: string;
}

export interface PacedPoint extends PacedFigures {
  readonly streams: number;
  readonly verdict: 'true' | 'client_bound' | 'host_bound';
}

/** How long a load may go on after it should be over. */
const finishS = 5;

/**
 * Keeps a number of paced streams under way and compares what the client reads with what the server did. The streams
 * begin one by one, evenly, so that their events spread over the pace; what is read before all are under way does not
 * count. Throws the signal's reason when it aborts.
 */
export async function measurePaced(
  server: SelfServer,
  { streams, tokens, durationS }: PacedLoad,
  context: SelfLoadContext,
): Promise<PacedFigures> {
  const answerS = streamPace.ttftS + (tokens - 1) * streamPace.itlS;
  const gapS = answerS / streams;
  const count = Math.max(streams, Math.round((durationS - answerS) / gapS));
  await server.reset();
  let cores = watchCores();
  let counting: Promise<number> | undefined;
  const startCounting = async (): Promise<number> => {
    await server.reset();
    cores = watchCores();
    return now();
  };
  const load = await sendTo(
    server,
    {
      requests: new Array(count).fill(specOf(tokens)),
      minRequests: count,
      minDurationS: 0,
      maxConcurrency: null,
      arrivals: evenly(gapS),
      loadTimeoutS: count * gapS + answerS + finishS,
    },
    context,
    (elapsedS) => {
      if (elapsedS < answerS || elapsedS > count * gapS) return;
      counting ??= startCounting();
      // Awaited below, when the load is over.
      counting.catch(() => {});
    },
  );
  const countingS = await counting;
  const stats = await server.stats();
  const failure = firstFailure(load);
  return {
    ...errorsOf(load, stats, countingS === undefined ? 0 : countingS - load.startS),
    ...effortOf(load, cores.read(), stats.cpuS),
    ...(failure === null ? {} : { failure }),
  };
}

/** What the client read from `fromS` on, against what the server did since then. */
function errorsOf({ records }: LoadResult, stats: PacedStats, fromS: number): Omit<PacedFigures, keyof Effort> {
  const gaps: number[] = [];
  let [ttftSumS, answers] = [0, 0];
  for (const { sendS, firstTokenS, tokenTimesS } of records) {
    if (firstTokenS !== undefined && firstTokenS > fromS) {
      ttftSumS += firstTokenS - sendS;
      answers++;
    }
    for (let i = 1; i < tokenTimesS.length; i++) {
      const timeS = tokenTimesS[i] as number;
      if (timeS > fromS) gaps.push(timeS - (tokenTimesS[i - 1] as number));
    }
  }
  const { ttftUs, unreadUs, gapUs, latenessUs } = stats;
  const ttftS = answers === 0 || ttftUs.mean === null ? null : ttftSumS / answers - ttftUs.mean / 1e6;
  const itlS = percentile(ascending(gaps), 99);
  return {
    ttftErrorS: ttftS === null ? null : ttftS - (unreadUs.mean ?? 0) / 1e6,
    itlErrorS: itlS === null || gapUs.p99 === null ? null : itlS - gapUs.p99 / 1e6,
    serverLateP50S: latenessUs.p50 === null ? null : latenessUs.p50 / 1e6,
    serverLateP99S: latenessUs.p99 === null ? null : latenessUs.p99 / 1e6,
  };
}

/** Whether the server kept to its schedule so badly that it is no clock to measure by. */
export const isServerLate = ({ serverLateP50S, serverLateP99S }: PacedFigures): boolean =>
  (serverLateP50S ?? 0) > trueLimits.serverLateP50S || (serverLateP99S ?? 0) > trueLimits.serverLateP99S;

/** Whether the times were read true, else whose fault it was. A late server tells nothing about its client. */
export function judge(figures: PacedFigures, workers: number): PacedPoint['verdict'] {
  const { ttftErrorS, itlErrorS, failure, clientCores } = figures;
  if (isServerLate(figures) || failure !== undefined || ttftErrorS === null || itlErrorS === null) return 'host_bound';
  if (ttftErrorS <= trueLimits.ttftErrorS && itlErrorS <= trueLimits.itlErrorS) return 'true';
  return clientCores < trueLimits.leastClientCores * workers ? 'host_bound' : 'client_bound';
}

/** What a search for the most streams came to. */
export interface StreamSearch {
  /** In the order of their streams; only the last one may be anything but true. */
  readonly points: readonly PacedPoint[];
  readonly trueStreams: number;
  readonly limitedBy: StreamLimit;
}

/**
 * Doubles the streams from `first` on, as long as they are read true, up to `most`, which is the last. Other programs
 * can only make a point worse than it is, so one that fails is measured once more, and that counts.
 */
export async function searchStreams(
  { first, most }: { readonly first: number; readonly most: number },
  measure: (streams: number) => Promise<PacedPoint>,
): Promise<StreamSearch> {
  const points: PacedPoint[] = [];
  let trueStreams = 0;
  for (let streams = Math.min(first, most); ; streams = Math.min(2 * streams, most)) {
    let point = await measure(streams);
    if (point.verdict !== 'true') point = await measure(streams);
    points.push(point);
    if (point.verdict !== 'true') {
      return { points, trueStreams, limitedBy: point.verdict === 'client_bound' ? 'client' : 'host' };
    }
    trueStreams = streams;
    if (streams === most) return { points, trueStreams, limitedBy: 'max_streams' };
  }
}
