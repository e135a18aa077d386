import { type DurationsUs, type Histogram, newHistogram } from './histogram.ts';

/** What a paced server saw of itself since it started, or since it was reset. Durations in microseconds. */
export interface PacedStats {
  readonly requests: {
    /** Answered to the last byte. */
    readonly answered: number;
    /** Being answered, or waiting for their first token, now; a reset leaves them. */
    readonly active: number;
    /** Their client went away before the last byte. */
    readonly gone: number;
    /** Broken or unknown, answered with an error. */
    readonly refused: number;
  };
  /** Open at this moment. */
  readonly connections: number;
  readonly tokens: number;
  /** Events with text in them: no role, usage or `[DONE]`. */
  readonly events: number;
  readonly writes: number;
  /** Writes that the system did not take whole, because the client reads too slowly. */
  readonly backpressure: number;
  /** From the moment for which an event was scheduled to the one at which it was handed to the socket. */
  readonly latenessUs: DurationsUs;
  /** From the last byte of a request to the first event with text. */
  readonly ttftUs: DurationsUs;
  /**
   * How long a request may have lain unread before its last byte was read, which the other durations begin with: an
   * upper bound. By so much a client can rightly see a longer time to first token than `ttftUs`.
   */
  readonly unreadUs: DurationsUs;
  /** From one event of an answer to the next; events of one write have 0 between them. */
  readonly gapUs: DurationsUs;
  /** User and system time of the whole process. */
  readonly cpuS: number;
  readonly elapsedS: number;
  /** `cpuS` for 100,000 events; null before the first one. */
  readonly cpuSPer100kEvents: number | null;
}

/** The running counts behind `PacedStats`. */
export interface Tallies {
  answered: number;
  active: number;
  gone: number;
  refused: number;
  connections: number;
  tokens: number;
  events: number;
  writes: number;
  backpressure: number;
  readonly lateness: Histogram;
  readonly ttft: Histogram;
  readonly unread: Histogram;
  readonly gap: Histogram;
  read(): PacedStats;
  reset(): void;
}

export function newTallies(): Tallies {
  let startedAtMs = performance.now();
  let cpuAtStart = process.cpuUsage();

  const tallies: Tallies = {
    answered: 0,
    active: 0,
    gone: 0,
    refused: 0,
    connections: 0,
    tokens: 0,
    events: 0,
    writes: 0,
    backpressure: 0,
    lateness: newHistogram(),
    ttft: newHistogram(),
    unread: newHistogram(),
    gap: newHistogram(),
    read() {
      const { answered, active, gone, refused, connections, tokens, events, writes, backpressure } = tallies;
      const { user, system } = process.cpuUsage(cpuAtStart);
      const cpuS = (user + system) / 1e6;
      return {
        requests: { answered, active, gone, refused },
        connections,
        tokens,
        events,
        writes,
        backpressure,
        latenessUs: tallies.lateness.read(),
        ttftUs: tallies.ttft.read(),
        unreadUs: tallies.unread.read(),
        gapUs: tallies.gap.read(),
        cpuS,
        elapsedS: (performance.now() - startedAtMs) / 1000,
        cpuSPer100kEvents: events === 0 ? null : (cpuS / events) * 1e5,
      };
    },
    reset() {
      tallies.answered = tallies.gone = tallies.refused = 0;
      tallies.tokens = tallies.events = tallies.writes = tallies.backpressure = 0;
      for (const histogram of [tallies.lateness, tallies.ttft, tallies.unread, tallies.gap]) histogram.clear();
      startedAtMs = performance.now();
      cpuAtStart = process.cpuUsage();
    },
  };
  return tallies;
}
