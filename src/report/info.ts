import { external } from '../engines/external.ts';
import type { Machine, Weights } from '../records/run.ts';
import type { Configuration } from '../records/settings.ts';
import type { ObjectiveMetric, StudySpec } from '../records/study.ts';
import type { ClientHealth } from '../records/summary.ts';
import type { CounterSummary, GpuSummary } from '../records/telemetry.ts';
import type { CeilingReached, ChangedSetting, Fate, Purpose, StressBurst, TrialTimes } from '../records/trial.ts';
import type { Workload } from '../records/workload.ts';
import type { StageVerdict } from '../search/decisions.ts';
import type { Comparison } from '../search/noise.ts';

/** How one value of a metric relates to another: of the metric itself, so 0.7 is 30 % less whatever "better" means. */
export interface Change {
  readonly ratio: number;
  /** 95 % interval of the ratio. */
  readonly low: number;
  readonly high: number;
  readonly verdict: 'better' | 'worse' | 'no_significant_difference';
}

/** One trial as the report shows it. Throughputs in tokens a second, times in the unit that the name says. */
export interface TrialInfo {
  readonly id: number;
  readonly purpose: Purpose;
  readonly stage: string | null;
  readonly workload: string;
  readonly reason: string;
  readonly engineStart: number;
  /** Measured on a server that servetune neither started nor stopped. */
  readonly attached: boolean;
  readonly configuration: Configuration;
  /** All of the configuration in one line. */
  readonly label: string;
  readonly fate: Fate;
  /** Its objective enters the comparison. */
  readonly counts: boolean;
  /** Why it does not, though it was measured: a constraint, or no value. */
  readonly excluded: string | null;
  /** The objective's value. */
  readonly value: number | null;
  readonly totalTokenThroughput: number | null;
  readonly meanTtftMs: number | null;
  readonly meanTpotMs: number | null;
  readonly requests: {
    readonly asked: number;
    readonly ok: number;
    readonly failed: number;
    readonly notSent: number;
  } | null;
  /** Output tokens produced over output tokens asked for. */
  readonly outputShare: number | null;
  readonly errors: readonly { readonly text: string; readonly count: number }[];
  readonly warnings: readonly string[];
  readonly client: ClientHealth | null;
  readonly failure: {
    readonly message: string;
    readonly hint: string | null;
    readonly logTail: readonly string[];
    /** The lines of the log that tell the cause, where one does. */
    readonly fragment: readonly string[];
    /** What is different from the configuration that it was made from. */
    readonly changed: readonly ChangedSetting[];
  } | null;
  /** The GPUs during the load. */
  readonly gpu: GpuSummary | null;
  /** The most that the GPUs could do with its requests; null where that is not known. */
  readonly ceiling: CeilingReached | null;
  readonly counters: CounterSummary | null;
  readonly stress: StressBurst | null;
  readonly servingCommand: readonly string[];
  readonly loadCommand: readonly string[];
  readonly effectiveSettings: Readonly<Record<string, string>> | null;
  readonly times: TrialTimes;
  readonly beganAt: string;
  /** The result block; null without a summary. */
  readonly block: string | null;
  readonly simulated: boolean;
}

/** A configuration under one workload, over all of its trials that count. */
export interface CandidateInfo {
  /** What sets it apart within its stage; null for a stage's input, or the baseline, that sets none of what was varied. */
  readonly label: string | null;
  readonly configuration: Configuration;
  readonly trialIds: readonly number[];
  /** Number of trials that count. */
  readonly runs: number;
  /** Geometric mean of the objective over these trials. */
  readonly value: number | null;
  /** Geometric mean of the total throughput over these trials, tok/s. */
  readonly totalTokenThroughput: number | null;
  /** Geometric mean over these trials of each trial's mean time per output token. */
  readonly meanTpotMs: number | null;
  readonly disqualified: string | null;
}

export interface StageInfo {
  readonly name: string;
  readonly verdict: StageVerdict;
  /** Relative standard deviation of one measurement, as far as it was known when the stage was decided. */
  readonly noiseSd: number;
  readonly incumbent: CandidateInfo;
  readonly challengers: readonly (CandidateInfo & { readonly change: Change | null })[];
  /** Best first. `tied`: noise does not tell it from the next one. */
  readonly ranking: readonly { readonly label: string | null; readonly value: number; readonly tied: boolean }[];
  readonly winner: string | null;
  /**
   * The winner against the stage's input, or the best challenger where the input stays; null where nothing was compared.
   * The same runs twice: judged by the noise of that moment, which decided, and by that of the whole run.
   */
  readonly comparison: {
    readonly label: string;
    readonly decided: Change;
    readonly atRunNoise: Change;
  } | null;
}

/** Baseline and winner under one workload. */
export interface WorkloadResult {
  readonly workload: string;
  /** It is the objective's. */
  readonly decides: boolean;
  readonly baseline: CandidateInfo;
  readonly optimized: CandidateInfo;
  /** Of the objective's metric; null where one side has no value, or both are the same configuration. */
  readonly change: Change | null;
}

/** A single later measurement held against the earlier ones of the same configuration. */
export interface Recheck {
  readonly trialId: number;
  readonly value: number | null;
  readonly against: number | null;
  readonly change: Change | null;
}

/** The worst of one client figure over all trials that have it. */
export interface Extreme {
  readonly value: number;
  readonly trialId: number;
}

export interface Quality {
  readonly noise: {
    /** Relative standard deviation of one measurement. */
    readonly sd: number;
    /** Repeats that it rests on. */
    readonly repeats: number;
    /** Repeats that the cautious guess from before the study is worth. */
    readonly priorRepeats: number;
  };
  /** Configurations that were measured more than once under one workload. */
  readonly repeated: readonly {
    readonly label: string;
    readonly workload: string;
    readonly values: readonly number[];
    readonly trialIds: readonly number[];
  }[];
  /** The baseline's last measurement against its first. */
  readonly drift: Recheck | null;
  /** The recommended command's last measurement against the winner's earlier ones. */
  readonly confirmation: Recheck | null;
  readonly client: {
    readonly loopDelayP99S: Extreme;
    readonly loopDelayMaxS: Extreme;
    readonly cpuShare: Extreme;
    readonly sendLagP99S: Extreme;
    /** Trials that the load generator itself held back, each with its reason. */
    readonly bound: readonly { readonly trialId: number; readonly reason: string }[];
  } | null;
  /** Fewest output tokens over those asked for. */
  readonly outputShare: Extreme | null;
  readonly failedTrials: readonly { readonly fate: Fate; readonly trialIds: readonly number[] }[];
  readonly requests: { readonly asked: number; readonly ok: number; readonly failed: number; readonly notSent: number };
  readonly warnings: readonly { readonly text: string; readonly trialIds: readonly number[] }[];
}

/** What bounds the conclusion, by numbers; `sections/notes.ts` puts it into words. */
export interface Scope {
  readonly configurationsTried: number;
  /** Different configurations that the stages span when every combination is counted. */
  readonly configurationsSpanned: number;
  readonly stagesNotTried: readonly string[];
  readonly failedConfigurations: number;
  readonly closeCalls: number;
  /** The winner changes number formats, so its answers may differ from the baseline's. */
  readonly numberFormats: readonly string[];
  readonly workloads: number;
}

export type ConclusionVerdict =
  /** How the winner compares with the baseline over all runs of both. */
  | Change['verdict']
  | 'keep_baseline'
  /** The winner has a value and the baseline has none, so no gain can be stated. */
  | 'no_baseline'
  /** The winner has no value: nothing can be recommended. */
  | 'unmeasured';

/** Everything that a report says, as data. Texts are free of what identifies the user; every figure comes from trials. */
export interface ReportInfo {
  readonly format: 'servetune-report-1';
  readonly simulated: boolean;
  /** Predicted without a fit to measurements; absent of measured figures. */
  readonly uncalibrated?: true;
  readonly finished: boolean;
  readonly name: string;
  readonly model: string;
  /** For titles: the file's name where the model is a path. */
  readonly modelName: string;
  /** The part that computes, for titles: GPUs by name and number, else the CPU. */
  readonly hardware: string;
  readonly objective: {
    readonly metric: ObjectiveMetric;
    readonly unit: string;
    readonly better: 'higher' | 'lower';
    readonly workload: string;
    readonly constraints: StudySpec['constraints'];
  };
  readonly conclusion: {
    readonly verdict: ConclusionVerdict;
    readonly servingCommand: readonly string[];
    readonly baselineCommand: readonly string[];
    readonly change: Change | null;
  };
  readonly baseline: { readonly label: string; readonly configuration: Configuration };
  readonly winner: { readonly label: string; readonly configuration: Configuration };
  /** In the study's order, so the objective's workload need not be the first. */
  readonly results: readonly WorkloadResult[];
  readonly stages: readonly StageInfo[];
  readonly quality: Quality;
  readonly scope: Scope;
  readonly machine: Machine;
  /** Empty where no engine takes its weights from a hub or a folder. */
  readonly weights: readonly Weights[];
  readonly engines: readonly string[];
  readonly servetuneVersion: string;
  readonly workloads: readonly {
    readonly options: Workload;
    readonly loadCommand: readonly string[] | null;
    /** Prompt tokens a request, by the server's count where it gave one; null where nothing was measured. */
    readonly inputTokensMeasured: number | null;
  }[];
  readonly time: {
    readonly beganAt: string;
    readonly endedAt: string | null;
    /** From the beginning of the study to its end, or to the end of its last trial. */
    readonly totalS: number;
    /** Without servers that ran already. */
    readonly engineStarts: number;
    readonly startS: number;
    /** For such servers to answer. */
    readonly waitS: number;
    readonly warmupS: number;
    readonly loadS: number;
  };
  readonly trials: readonly TrialInfo[];
  readonly study: StudySpec;
}

/** Turns a comparison (larger is better) into the change of the metric itself. */
export function changeOf(comparison: Comparison, better: 'higher' | 'lower'): Change {
  const { ratio, low, high, significant } = comparison;
  const verdict = significant ? (ratio > 1 ? 'better' : 'worse') : 'no_significant_difference';
  return better === 'higher'
    ? { ratio, low, high, verdict }
    : { ratio: 1 / ratio, low: 1 / high, high: 1 / low, verdict };
}

/** Whether a configuration is a server that somebody else started. */
export const isAttached = ({ engine }: Pick<Configuration, 'engine'>): boolean => engine === external.name;

/** Whether servetune started nothing at all. */
export const allAttached = ({ baseline, trials }: ReportInfo): boolean =>
  isAttached(baseline.configuration) && trials.every((t) => t.attached);

/** The trials of these ids, in the order of the ids. */
export const trialsOf = (info: ReportInfo, ids: readonly number[]): readonly TrialInfo[] =>
  info.trials.filter((t) => ids.includes(t.id));

/** Whether the noise of the whole run would judge the stage's comparison otherwise than it was decided, and how. */
export function judgedOtherwise({ comparison }: StageInfo): 'covered' | 'clear' | null {
  if (!comparison) return null;
  const [before, after] = [comparison.decided, comparison.atRunNoise].map(
    ({ verdict }) => verdict !== 'no_significant_difference',
  );
  return before === after ? null : after ? 'clear' : 'covered';
}

/** The result of the workload that decides. */
export const decidingResult = (info: ReportInfo): WorkloadResult | undefined => info.results.find((r) => r.decides);
