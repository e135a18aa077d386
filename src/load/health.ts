import type { LoopDelay } from '../kit/loop-delay.ts';
import { percentile } from '../kit/numbers.ts';
import type { RecordList } from '../records/request.ts';
import type { ClientHealth } from '../records/summary.ts';
import type { LaneResult } from './lane.ts';

/** From where on the client, not the server, is what was measured. Each with its reason. */
export const clientLimits = {
  /**
   * Delay of the event loop by the client's own computing, p99. Streams bring a token every 5 to 50 ms: events that are
   * read much later would bend the very figures that are compared. Not tighter, because the CPU time by which computing
   * is told from waiting also counts a core that is shared with a hyperthread's other half.
   */
  ownLoopDelayP99S: 0.02,
  /**
   * Delay of the event loop for any reason, p99. Ten times as much: when engine and client share a small machine, the
   * client now and then waits some milliseconds for a core, and that falls on every configuration alike; but a client
   * that is kept waiting this long reads whole groups of tokens at once.
   */
  loopDelayP99S: 0.1,
  /**
   * Share of the time in which the loop had work, or waited for a core to do it. Queues grow without bound towards 1.
   * Judged by the loop and not by CPU time, because that also counts other threads of this process, and does not count
   * the time in which a starved client stood still.
   */
  loopBusyShare: 0.9,
  /**
   * Actual minus intended send time, p99: more than that and the load that was asked for was not the load that was
   * offered. A long load may begin with a burst of a thousand requests that cannot all go out in one instant, so a
   * hundredth of its duration is tolerated, up to the second figure.
   */
  sendLagP99S: 0.025,
  sendLagP99MostS: 0.1,
  /** Share of the concurrency asked for that must be reached when everything is due at once. */
  concurrencyShare: 0.9,
} as const;

/** Shares of time mean little in less, seconds. */
const leastDurationS = 1;

/** What a load says about its client. */
export interface ClientMeasurements {
  /** One for each thread. */
  readonly lanes: readonly LaneResult[];
  readonly records: RecordList;
  readonly durationS: number;
  /** The limit that was asked for; null is none. */
  readonly concurrencyAsked: number | null;
  /** All requests were due at once. */
  readonly rateIsInfinite: boolean;
  /** The first request that failed because this side ran out of something: `EMFILE: ...`. */
  readonly clientFault?: string;
}

/** Health of the client over one load, with the verdict whether its numbers are the server's. */
export function clientHealth(measured: ClientMeasurements): ClientHealth {
  const { lanes, records } = measured;
  const lagOf = new Float64Array(records.length);
  let events = 0;
  let at = 0;
  for (const { sendS, intendedSendS, tokenTimesS } of records) {
    lagOf[at++] = Math.max(0, sendS - intendedSendS);
    events += tokenTimesS.length;
  }
  const lags = lagOf.sort();
  const loop = worst(lanes);
  const reads = lanes.reduce((sum, lane) => sum + lane.reads, 0);
  const concurrencyReached = Math.max(0, ...lanes.map(({ mostInFlight }) => mostInFlight));
  const figures = {
    loopDelayP99S: loop.p99S,
    loopDelayMaxS: loop.maxS,
    cpuShare: loop.cpuShare,
    sendLagP50S: percentile(lags, 50) ?? 0,
    sendLagP99S: percentile(lags, 99) ?? 0,
    sendLagMaxS: lags.at(-1) ?? 0,
    concurrencyAsked: measured.concurrencyAsked,
    concurrencyReached,
    socketsOpened: lanes.reduce((sum, lane) => sum + lane.socketsOpened, 0),
    workers: lanes.length,
    loopDelays: lanes.map(({ loop: { p50S, p90S, p99S, maxS } }) => ({ p50S, p90S, p99S, maxS })),
    reads,
    eventsPerRead: reads > 0 ? events / reads : null,
  };
  const reasons = faults(measured, loop, figures);
  return reasons.length === 0
    ? { ...figures, verdict: 'ok' }
    : { ...figures, verdict: 'client_bound', reason: reasons.join('; ') };
}

/** Each figure of the thread that is worst in it: one that is late spoils what the others read well. */
function worst(lanes: readonly LaneResult[]): LoopDelay {
  const most = (of: (loop: LoopDelay) => number): number => Math.max(0, ...lanes.map(({ loop }) => of(loop)));
  return {
    p50S: most((loop) => loop.p50S),
    p90S: most((loop) => loop.p90S),
    p99S: most((loop) => loop.p99S),
    maxS: most((loop) => loop.maxS),
    ownP99S: most((loop) => loop.ownP99S),
    busyShare: most((loop) => loop.busyShare),
    cpuShare: most((loop) => loop.cpuShare),
  };
}

function faults(
  measured: ClientMeasurements,
  loop: LoopDelay,
  { sendLagP99S, concurrencyReached }: Pick<ClientHealth, 'sendLagP99S' | 'concurrencyReached'>,
): string[] {
  const { records, durationS, concurrencyAsked } = measured;
  if (records.length === 0) return [];
  const reasons: string[] = [];
  if (measured.clientFault !== undefined) reasons.push(`requests failed on this side: ${measured.clientFault}`);
  if (loop.ownP99S > clientLimits.ownLoopDelayP99S) {
    reasons.push(
      `the load client was late by ${ms(loop.ownP99S)} (p99) because of its own work; the limit is ${ms(clientLimits.ownLoopDelayP99S)}`,
    );
  }
  if (loop.p99S > clientLimits.loopDelayP99S) {
    reasons.push(
      `the load client was late by ${ms(loop.p99S)} (p99) because something else took the machine's cores; the limit is ${ms(clientLimits.loopDelayP99S)}`,
    );
  }
  // A load of a moment is all beginning and end, and the loop has something to do throughout.
  if (loop.busyShare > clientLimits.loopBusyShare && durationS >= leastDurationS) {
    reasons.push(
      `the load client had work ${percent(loop.busyShare)} of the time, and got ${percent(loop.cpuShare)} of a core for it`,
    );
  }
  const tolerated = Math.min(Math.max(clientLimits.sendLagP99S, durationS / 100), clientLimits.sendLagP99MostS);
  if (sendLagP99S > tolerated) reasons.push(`requests went out ${ms(sendLagP99S)} late (p99)`);
  const reachable = Math.min(concurrencyAsked ?? Number.POSITIVE_INFINITY, records.length);
  if (measured.rateIsInfinite && concurrencyReached < reachable * clientLimits.concurrencyShare) {
    reasons.push(`only ${concurrencyReached} of ${reachable} requests were ever in flight at once`);
  }
  return reasons;
}

const ms = (seconds: number): string => `${(seconds * 1000).toFixed(0)} ms`;
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
