import type { Configuration, Settings, SettingValue } from './settings.ts';
import type { ClientHealth, Summary } from './summary.ts';
import type { CounterSummary, GpuSummary } from './telemetry.ts';

/** How a trial ended. Failure is data: every one of these is a row. */
export const fates = [
  'measured',
  /** The engine ended, or never answered, before it was ready. */
  'start_failed',
  'out_of_memory',
  /** Start or load took longer than its limit. */
  'timed_out',
  'crashed_under_load',
  /** No byte from any stream, or no sign of work during the start, for longer than the stall limit. */
  'hung',
  /** The engine, its version or the hardware does not have this setting. */
  'unsupported_setting',
  /** It ran, but the numbers must not be believed. */
  'invalid_measurement',
  'cancelled',
] as const;
export type Fate = (typeof fates)[number];

/** Why a trial of a study exists. */
export const purposes = [
  /** What everything is compared with; measured first. */
  'baseline',
  /** An alternative of a stage. */
  'stage',
  /** The same trial again from a fresh engine start, because a comparison was too close to call. */
  'repeat',
  /** Baseline or winner under a workload other than the objective's. */
  'further',
  /** The baseline once more at the end: how far the machine drifted. */
  'baseline_again',
  /** The winner once more, started by exactly the command that the report recommends; the stress burst follows. */
  'confirmation',
] as const;
export type Purpose = (typeof purposes)[number];

/** What is asked for next: one start of an engine, and the workloads that it shall serve, in order. */
export interface Proposal {
  readonly configuration: Configuration;
  readonly measure: readonly { readonly workload: string; readonly purpose: Purpose }[];
  /** The stage that it belongs to, if any. */
  readonly stage?: string;
  /** One sentence for people: why this comes next. */
  readonly reason: string;
  /** What it was derived from, where it was. */
  readonly parent?: Configuration;
}

/**
 * What an engine does until it is ready, in its usual order; one that does not tell is `starting` all the time. `first
 * token` is from a healthy route and a named model to the first token of a real answer.
 */
export type StartPartName = 'starting' | 'loading' | 'compiling' | 'capturing' | 'warming up' | 'first token';

/** The most that the GPUs could do with the requests of a trial. */
export interface CeilingReached {
  /** Input and output tokens a second. */
  readonly totalTokensPerS: number;
  readonly bound: 'compute' | 'memory' | 'capacity';
  /** The part that it is computed for. */
  readonly hardware: string;
}

/** Seconds that the parts of a start took. They add up to it, but for the time until its log was first read. */
export type StartParts = Readonly<Partial<Record<StartPartName, number>>>;

/** A setting by which a configuration differs from another one; null is the engine's own default. */
export interface ChangedSetting {
  /** `engine` stands for the engine itself, with its version. */
  readonly name: string;
  readonly from: SettingValue | null;
  readonly to: SettingValue | null;
}

/**
 * Whether an engine found its compiled graphs in its cache when it started. `cold`: it compiled at least some of them,
 * which a start after it need not do.
 */
export type CompileCache = 'cold' | 'warm';

/** Seconds that the parts of a trial took; absent parts were not reached, or were done by an earlier trial of the same start. */
export interface TrialTimes {
  readonly startS?: number;
  /** Of `startS`. */
  readonly parts?: StartParts;
  /** What `startS` depends on most; absent where the engine does not tell, and where it compiles nothing. */
  readonly compileCache?: CompileCache;
  readonly warmupS?: number;
  readonly loadS?: number;
}

/** What a winner was sent after its confirmation, to see whether it lives through its largest batch; it counts in no figure. */
export interface StressBurst {
  /** Sent at once. */
  readonly requests: number;
  /** Of each request, without the chat template. */
  readonly promptTokens: number;
  /** That each request asked for. */
  readonly outputTokens: number;
  readonly durationS: number;
  /** Requests that were not answered to their end, for whatever reason; those that were refused are no fault of the engine. */
  readonly failed: number;
}

/** One configuration under one workload, run once. Immutable once finished. */
export interface Trial {
  readonly configuration: Configuration;
  /** Name of the workload. */
  readonly workload: string;
  readonly purpose: Purpose;
  readonly stage?: string;
  readonly reason: string;
  /** From 1, in the order in which they began; also the name of the folder `trials/NNN`. */
  readonly id: number;
  /** Which start of an engine served it, from 1. Two trials of one start share the process. */
  readonly engineStart: number;
  /** When it began, ISO 8601, UTC. */
  readonly beganAt: string;
}

export interface FinishedTrial extends Trial {
  readonly fate: Fate;
  /** Nothing was started: its figures are predicted. */
  readonly simulated?: true;
  /** Absent only when it was measured: what happened, the last log lines, and what would mend it. */
  readonly failure?: {
    readonly message: string;
    readonly logTail: readonly string[];
    readonly hint?: string;
    /** The line of the log that tells the cause, with up to two lines around it. */
    readonly fragment?: readonly string[];
    /** Settings that the engine itself says would work. */
    readonly suggestion?: Settings;
    /** What is different from the configuration that it was derived from. */
    readonly changed?: readonly ChangedSetting[];
  };
  /** The command that started the engine, as a user would type it, one argument an entry. */
  readonly servingCommand: readonly string[];
  /** The `servetune bench serve` command that sends the same load. */
  readonly loadCommand: readonly string[];
  readonly summary?: Summary;
  readonly client?: ClientHealth;
  /** The GPUs during the load. */
  readonly gpu?: GpuSummary;
  /** Absent where model or GPU are not known well enough. */
  readonly ceiling?: CeilingReached;
  /** What the engine told of itself during the load. */
  readonly counters?: CounterSummary;
  /** What the engine itself says of its settings, read back from it. */
  readonly effectiveSettings?: Readonly<Record<string, string>>;
  /** Of a confirmation. */
  readonly stress?: StressBurst;
  readonly times: TrialTimes;
  readonly endedAt: string;
}
