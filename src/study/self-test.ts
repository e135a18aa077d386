import { wallTime } from '../kit/clock.ts';
import { InputError } from '../kit/errors.ts';
import { openFileLimit } from '../load/preflight.ts';
import type { Ceiling } from '../records/ceiling.ts';
import { clientMachineHere } from './kept-ceiling.ts';
import { judge, measurePaced, type PacedPoint, searchStreams, streamPace } from './paced-streams.ts';
import { measureThroughput, type Throughput, type ThroughputLoad } from './self-load.ts';
import { type SelfServerContext, startSelfServer } from './self-server.ts';

/** How long each measurement goes on. */
export interface SelfTestSizes {
  /** Each of the three unpaced loads, seconds. */
  readonly unpacedS: number;
  /** Each number of paced streams, seconds. */
  readonly pointS: number;
  /**
   * Tokens of a paced answer. Chosen so that it lasts a prime number of token times: however many streams there are,
   * their events then fall into as many different moments of the pace.
   */
  readonly pacedTokens: number;
  /** The first number of paced streams. */
  readonly firstStreams: number;
}

export const fullSizes: SelfTestSizes = { unpacedS: 3, pointS: 3, pacedTokens: 32, firstStreams: 64 };
export const quickSizes: SelfTestSizes = { unpacedS: 0.8, pointS: 1.2, pacedTokens: 14, firstStreams: 64 };

/** Where the search for more streams ends at the latest, unless more is asked for. */
const usualMostStreams = 4096;
/** Streams overlap while one ends and the next begins; and both sides have other files open. */
const filesPerStream = 1.25;
const otherFiles = 128;

export interface SelfTestOptions extends SelfServerContext {
  /** Threads that send the loads. */
  readonly workers: number;
  /** Most paced streams that are tried; by default as many as files may be open, up to 4096. */
  readonly maxStreams?: number;
  readonly sizes: SelfTestSizes;
  /** What is being measured now. */
  onPhase?(phase: string): void;
}

/** All that a self-test measured, and the ceiling that follows from it. */
export interface SelfTest {
  readonly ceiling: Ceiling;
  /** Answers of one token. */
  readonly requests: Throughput;
  /** Long streams, one event a write. */
  readonly events: Throughput;
  /** Long streams, `eventsPerWrite` events a write. */
  readonly eventsBatched: Throughput;
  readonly points: readonly PacedPoint[];
  /** Cores that other programs used meanwhile, on average; null where the system does not tell. */
  readonly otherCores: number | null;
}

/** Answers at once of the unpaced loads. */
export const unpacedStreams = 64;
export const unpacedTokens = 200;
export const eventsPerWrite = 16;
/** Cores of other programs from which on the machine counts as busy. */
const busyCores = 0.5;

/**
 * Measures what the load client can do on this machine, against a server in another process. Throws an InputError for
 * more streams than files may be open, a ServetuneError `self_test_server` or `self_test_failed`, and the signal's
 * reason when it aborts. However it ends, the servers are gone.
 */
export async function selfTest(options: SelfTestOptions): Promise<SelfTest> {
  const { workers, sizes, signal, onPhase } = options;
  const most = mostStreams(options.maxStreams);
  const context = { workers, signal };
  const unpaced = (tokens: number): ThroughputLoad => ({
    tokens,
    streams: unpacedStreams,
    durationS: sizes.unpacedS,
  });

  const [requests, events] = await withServer({}, options, async (server) => {
    onPhase?.('requests');
    const short = await measureThroughput(server, unpaced(1), context);
    onPhase?.('tokens');
    return [short, await measureThroughput(server, unpaced(unpacedTokens), context)] as const;
  });
  const eventsBatched = await withServer({ eventsPerWrite }, options, async (server) => {
    onPhase?.(`tokens, ${eventsPerWrite} a write`);
    return measureThroughput(server, unpaced(unpacedTokens), context);
  });
  const search = await withServer(streamPace, options, (server) =>
    searchStreams({ first: sizes.firstStreams, most }, async (streams) => {
      onPhase?.(`${streams} paced streams`);
      const load = { streams, tokens: sizes.pacedTokens, durationS: sizes.pointS };
      const figures = await measurePaced(server, load, context);
      return { streams, ...figures, verdict: judge(figures, workers) };
    }),
  );

  const { points, trueStreams, limitedBy } = search;
  const otherCores = meanOthers([requests, events, eventsBatched, ...points]);
  return {
    ceiling: {
      at: wallTime(),
      machine: clientMachineHere(),
      workers,
      requestsPerS: requests.requestsPerS,
      eventsPerS: events.eventsPerS,
      eventsPerSBatched: eventsBatched.eventsPerS,
      trueStreams,
      limitedBy,
      busy: otherCores !== null && otherCores > busyCores,
    },
    requests,
    events,
    eventsBatched,
    points,
    otherCores,
  };
}

/** A server with these options, for as long as `use` lasts. */
async function withServer<T>(
  options: Parameters<typeof startSelfServer>[0],
  context: SelfTestOptions,
  use: (server: Awaited<ReturnType<typeof startSelfServer>>) => Promise<T>,
): Promise<T> {
  context.onPhase?.('starting the server');
  await using server = await startSelfServer(options, context);
  return await use(server);
}

/** Client and server may each have as many files open: the server inherits the limit. */
export function mostStreams(asked: number | undefined, limit: number | null = openFileLimit()): number {
  if (limit === null) return asked ?? usualMostStreams;
  const possible = Math.max(1, Math.floor((limit - otherFiles) / filesPerStream));
  if (asked === undefined) return Math.min(usualMostStreams, possible);
  if (asked <= possible) return asked;
  const needed = Math.ceil(asked * filesPerStream) + otherFiles;
  throw new InputError([
    {
      place: '--max-streams',
      message: `${asked} streams need ${needed} open files, and a process may have ${limit}`,
      hint: `run "ulimit -n ${needed}" first, or ask for at most ${possible}`,
    },
  ]);
}

function meanOthers(efforts: readonly { readonly otherCores: number | null }[]): number | null {
  const known = efforts.flatMap(({ otherCores }) => (otherCores === null ? [] : [otherCores]));
  return known.length === 0 ? null : known.reduce((sum, cores) => sum + cores, 0) / known.length;
}
