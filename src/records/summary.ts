import type { Outcome } from './request.ts';

/** A sample of durations in seconds, reduced. Every field is null when the sample is empty, never 0 and never NaN. */
export interface Distribution {
  /** Size of the sample. */
  readonly n: number;
  readonly mean: number | null;
  readonly median: number | null;
  /** Population standard deviation. */
  readonly sd: number | null;
  readonly min: number | null;
  readonly max: number | null;
  /** By percentile, as asked for: `{"90": 0.12, "99": 0.31}`. */
  readonly percentiles: Readonly<Record<string, number | null>>;
}

/** What one load showed. Computed from request records by pure functions in `metrics/`, which state the formulas. */
export interface Summary {
  /** Requests that the workload called for: ok + failed + notSent. */
  readonly asked: number;
  readonly ok: number;
  readonly failed: number;
  readonly notSent: number;
  /** Every outcome that occurred. */
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
  /** The most frequent error texts, most frequent first, ten at most. */
  readonly errors: readonly { readonly text: string; readonly count: number }[];
  readonly durationS: number;
  /** Prompt tokens of the ok requests: the server's figure where it sent one, else the client's. */
  readonly inputTokens: number;
  /** The same, counted on this side only. */
  readonly inputTokensByClient: number;
  readonly outputTokens: number;
  /** Output tokens that the ok requests were asked to produce. */
  readonly outputTokensAsked: number;
  /** ok requests a second. */
  readonly requestThroughput: number | null;
  /** Output tokens a second. */
  readonly outputThroughput: number | null;
  /** Input and output tokens a second: the reference study's "total TPS". */
  readonly totalTokenThroughput: number | null;
  /** Most output tokens that arrived in one whole second of the load. */
  readonly peakOutputThroughput: number | null;
  /** Most requests that were under way at one moment. */
  readonly peakConcurrency: number | null;
  /** By the name of a metric in `metrics/table.ts`: `ttft`, `tpot`, `itl`, `e2el`, ... */
  readonly latencies: Readonly<Record<string, Distribution>>;
  /** Remarks that a reader of the numbers must see, each a sentence. */
  readonly warnings: readonly string[];
}

/** Whether the client could keep up; part of every result. */
export interface ClientHealth {
  /** Delay of the client's event loop, seconds. */
  readonly loopDelayP99S: number;
  readonly loopDelayMaxS: number;
  /** CPU seconds of the client a second of load; 1 is one whole core. */
  readonly cpuShare: number;
  /** Actual minus intended send time, seconds. */
  readonly sendLagP50S: number;
  readonly sendLagP99S: number;
  readonly sendLagMaxS: number;
  /** The limit that was asked for; null is none. */
  readonly concurrencyAsked: number | null;
  /** Most requests in flight at once. */
  readonly concurrencyReached: number;
  readonly socketsOpened: number;
  readonly verdict: 'ok' | 'client_bound';
  /** Why it is client-bound. */
  readonly reason?: string;
}
