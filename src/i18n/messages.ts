import type { EnginesMessages } from './messages/engines.ts';
import type { QualityMessages } from './messages/quality.ts';
import type { SetupMessages } from './messages/setup.ts';
import type { StagesMessages } from './messages/stages.ts';
import type { TrialMessages } from './messages/trial.ts';

/**
 * Every text of a report in one language. A language is one object of this type, so a missing message does not compile.
 * Figures come in formatted already, by the functions of `kit/words.ts` with this object's `locale`; counts come in as
 * numbers, because grammar depends on them.
 */
export interface Messages {
  /** BCP 47 tag: language of the document, and locale of its figures. */
  readonly locale: string;
  readonly contents: string;
  readonly copy: string;
  readonly copied: string;
  readonly none: string;
  /** Joins the ends of an interval. */
  interval(low: string, high: string): string;
  /** Said of a change that noise covers. */
  readonly notSignificant: string;
  /** A configuration that sets none of what the others vary. */
  readonly unchanged: string;
  /** Ids from one to another, both included. */
  range(first: string, last: string): string;
  /** Ends a list that was cut. */
  more(n: number): string;
  readonly simulated: {
    readonly banner: string;
    /** Said besides, where the prediction rests on no measurement. */
    readonly uncalibrated: string;
    readonly mark: string;
    /** In place of when it ended. */
    readonly moment: string;
  };
  /** Of an objective or constraint, by its name in the study file. */
  readonly metrics: Readonly<
    Record<
      | 'total_token_throughput'
      | 'output_throughput'
      | 'request_throughput'
      | 'mean_ttft_ms'
      | 'p99_ttft_ms'
      | 'mean_tpot_ms'
      | 'p99_tpot_ms'
      | 'mean_itl_ms'
      | 'p99_itl_ms'
      | 'mean_e2el_ms'
      | 'p99_e2el_ms',
      string
    >
  >;
  readonly fates: Readonly<
    Record<
      | 'measured'
      | 'start_failed'
      | 'out_of_memory'
      | 'timed_out'
      | 'crashed_under_load'
      | 'hung'
      | 'unsupported_setting'
      | 'invalid_measurement'
      | 'cancelled',
      string
    >
  >;
  readonly purposes: Readonly<
    Record<'baseline' | 'stage' | 'repeat' | 'further' | 'baseline_again' | 'confirmation', string>
  >;
  /** Words that several sections share: heads of columns and names of the two sides. */
  readonly columns: {
    readonly workload: string;
    readonly baseline: string;
    readonly optimized: string;
    readonly change: string;
    readonly interval: string;
    readonly configuration: string;
    readonly runs: string;
    readonly trial: string;
    readonly trials: string;
    readonly property: string;
    readonly value: string;
    readonly totalThroughput: string;
    readonly meanTpot: string;
  };
  readonly conclusion: {
    titleThroughput(model: string, hardware: string): string;
    titleLatency(model: string, hardware: string): string;
    subtitle(study: string, moment: string, version: string): string;
    readonly heading: string;
    readonly unfinished: string;
    recommended(model: string, hardware: string): string;
    worse(metric: string, workload: string, change: string, interval: string): string;
    noDifference(metric: string, workload: string, change: string, interval: string): string;
    bestSoFar(model: string, hardware: string): string;
    readonly keepBaseline: string;
    readonly nothingTried: string;
    noBaseline(reason: string): string;
    readonly unmeasured: string;
    baselineFailed(reason: string): string;
    readonly noCommand: string;
    /** Of a server that somebody else started: there is no command to give. */
    recommendedServer(model: string, hardware: string): string;
    readonly serverAsItRuns: string;
    /** Beside the verdict: the machine did not stay the same, or the recommendation did not hold when it was tried again. */
    drifted(first: string, last: string, change: string): string;
    notConfirmed(value: string, change: string, against: string): string;
    gainLabel(metric: string): string;
    gainNote(interval: string, workload: string): string;
    runs(n: number): string;
    tableCaption(metric: string): string;
    readonly baselineCaption: string;
    chartTitle(metric: string): string;
    chartDescription(rows: readonly string[]): string;
    chartRow(workload: string, baseline: string, optimized: string, change: string): string;
    readonly chartCaption: string;
    /** Stands behind a change that noise covers, and what it means. */
    readonly chartMark: string;
    readonly chartLegend: string;
    readonly notMeasured: string;
  };
  readonly notes: {
    readonly heading: string;
    greedy(tried: number, spanned: number): string;
    exhaustive(tried: number): string;
    repeats(closeCalls: number): string;
    /** The same of servers that are not started. */
    repeatsAttached(closeCalls: number): string;
    readonly noRepeats: string;
    failed(n: number): string;
    stagesNotTried(stages: string): string;
    numberFormats(settings: string): string;
    deciding(workload: string): string;
    readonly randomPrompts: string;
    readonly manyIntervals: string;
    readonly thisMachine: string;
  };
  readonly objective: {
    readonly heading: string;
    highest(metric: string, unit: string, workload: string): string;
    lowest(metric: string, unit: string, workload: string): string;
    readonly constraints: string;
    atMost(metric: string, limit: string): string;
    atLeast(metric: string, limit: string): string;
  };
  readonly setup: SetupMessages;
  readonly stages: StagesMessages;
  readonly trial: TrialMessages;
  readonly items: {
    readonly heading: string;
    caption(metric: string, noise: string): string;
    readonly stage: string;
    readonly chosen: string;
    readonly improvement: string;
    readonly together: string;
    readonly legend: string;
    /** Why the rows need not multiply to the last one. */
    readonly runs: string;
    /** Marks of stages that the noise of the whole run would judge otherwise; below the table, what they mean. */
    readonly marks: Readonly<Record<'covered' | 'clear', string>>;
    covered(noise: string): string;
    clear(noise: string): string;
    readonly nothing: string;
  };
  readonly engines: EnginesMessages;
  readonly further: {
    readonly heading: string;
    readonly introduction: string;
    readonly none: string;
    readonly notMeasured: string;
    caption(workload: string): string;
    readonly side: string;
  };
  readonly quality: QualityMessages;
  readonly reproduce: {
    readonly heading: string;
    readonly serve: string;
    readonly serveBaseline: string;
    load(workload: string): string;
    readonly study: string;
    readonly studyFile: string;
    /** Which keys the printed file has. */
    readonly defaults: string;
    readonly redacted: string;
  };
}
