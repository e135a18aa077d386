import type { Configuration } from './settings.ts';
import type { ClientHealth, Summary } from './summary.ts';

/** How a trial ended. Failure is data: every one of these is a row. */
export const fates = [
  'measured',
  /** The engine ended, or never answered, before it was ready. */
  'start_failed',
  'out_of_memory',
  /** Start or load took longer than its limit. */
  'timed_out',
  'crashed_under_load',
  /** No byte from any stream for longer than the stall limit. */
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
  /** The winner once more, started by exactly the command that the report recommends. */
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
}

/** Seconds that the parts of a trial took; absent parts were not reached, or were done by an earlier trial of the same start. */
export interface TrialTimes {
  readonly startS?: number;
  readonly warmupS?: number;
  readonly loadS?: number;
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
  /** Absent only when it was measured: what happened, the last log lines, and what would mend it. */
  readonly failure?: {
    readonly message: string;
    readonly logTail: readonly string[];
    readonly hint?: string;
  };
  /** The command that started the engine, as a user would type it, one argument an entry. */
  readonly servingCommand: readonly string[];
  /** The `servetune bench serve` command that sends the same load. */
  readonly loadCommand: readonly string[];
  readonly summary?: Summary;
  readonly client?: ClientHealth;
  /** What the engine itself says of its settings, read back from it. */
  readonly effectiveSettings?: Readonly<Record<string, string>>;
  readonly times: TrialTimes;
  readonly endedAt: string;
}
