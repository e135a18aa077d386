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

/** The latencies that `--goodput` may limit. */
export const goodputMetrics = ['ttft', 'tpot', 'e2el'] as const;
export type GoodputMetric = (typeof goodputMetrics)[number];
/** The longest that each may be, in milliseconds. */
export type GoodputLimits = Readonly<Partial<Record<GoodputMetric, number>>>;

/** What was served within the limits; `metrics/goodput.ts` says which requests are good. */
export interface Goodput {
  readonly limitsMs: GoodputLimits;
  /** Good requests. */
  readonly good: number;
  /** Of the requests that were asked for, failed and unsent ones included, 0 to 1; null of none. */
  readonly share: number | null;
  /** Good requests a second. */
  readonly requestThroughput: number | null;
  /** Output tokens of the good requests a second. */
  readonly outputThroughput: number | null;
}

/** What the load showed while it was at its plateau; `metrics/steady.ts` says which stretch that is. */
export interface SteadyWindow {
  /** Seconds since the start of the load. */
  readonly startS: number;
  readonly endS: number;
  /** ok requests that ended inside, whenever they were sent. */
  readonly completed: number;
  /** Tokens that arrived inside, of whichever ok request; not whole where an event on the edge carried several. */
  readonly outputTokens: number;
  /** `completed` a second. */
  readonly requestThroughput: number;
  /** `outputTokens` a second; null where nothing is generated. */
  readonly outputThroughput: number | null;
  /** Requests under way, averaged over the time. */
  readonly meanConcurrency: number;
  /** TTFT and TPOT of the ok requests that were both sent and finished inside. */
  readonly latencies: Readonly<Record<string, Distribution>>;
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
  /** Those of `inputTokens` that the server took from a cache of earlier prompts; null when it told of no request. */
  readonly cachedInputTokens?: number | null;
  readonly outputTokens: number;
  /** Output tokens that the ok requests were asked to produce. */
  readonly outputTokensAsked: number;
  /** ok requests a second. */
  readonly requestThroughput: number | null;
  /** Output tokens a second. */
  readonly outputThroughput: number | null;
  /** Input and output tokens a second: the reference study's "total TPS". */
  readonly totalTokenThroughput: number | null;
  /** Most output tokens that arrived in one second of the load. */
  readonly peakOutputThroughput: number | null;
  /** Most requests that were under way at one moment. */
  readonly peakConcurrency: number | null;
  /** Requests that were under way, averaged over the duration. Absent from summaries of older versions, as all optional fields may be. */
  readonly meanConcurrency?: number | null;
  /** Output tokens over token-bearing events, of the ok requests; 1 is the usual stream. */
  readonly tokensPerEvent?: number | null;
  /** Nothing is generated (embeddings): there are no output tokens, and no latency but E2EL. */
  readonly pooling?: boolean;
  /** Present when limits were given. */
  readonly goodput?: Goodput;
  /** Null when the load never settled; then `steadyReason` says why. */
  readonly steady?: SteadyWindow | null;
  readonly steadyReason?: string;
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
  /** Threads that sent the load. Absent, as all optional fields may be, from results of older versions. */
  readonly workers?: number;
  /** Delay of the event loop of each of them, seconds. */
  readonly loopDelays?: readonly {
    readonly p50S: number;
    readonly p90S: number;
    readonly p99S: number;
    readonly maxS: number;
  }[];
  /** Reads of connections that brought something. */
  readonly reads?: number;
  /** Token-bearing events a read: above 1, a read brought several, and their gaps are those of the reads. Null of none. */
  readonly eventsPerRead?: number | null;
  /** The load over what this client can do on this machine, 0 to 1, where `bench self` has measured that. */
  readonly ceilingShare?: number;
  readonly verdict: 'ok' | 'client_bound';
  /** Why it is client-bound. */
  readonly reason?: string;
}
