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
  readonly simulated: { readonly banner: string; readonly mark: string };
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
  readonly setup: {
    readonly heading: string;
    readonly model: string;
    /** Of the model that comes with servetune. */
    readonly tinyModel: string;
    readonly hardware: string;
    readonly hardwareCaption: string;
    readonly gpu: string;
    readonly cpu: string;
    readonly cores: string;
    readonly memory: string;
    readonly system: string;
    readonly versions: string;
    readonly versionsCaption: string;
    readonly engine: string;
    /** By the engine's name: what it is, where the name does not say it. */
    readonly engineNotes: Readonly<Record<string, string>>;
    readonly workloads: string;
    readonly workloadsCaption: string;
    readonly dataset: string;
    readonly inputTokens: string;
    readonly inputTokensMeasured: string;
    readonly measuredWithTemplate: string;
    readonly measuredByServer: string;
    readonly outputTokens: string;
    readonly requests: string;
    readonly requestsOrLonger: (requests: string, duration: string) => string;
    readonly rate: string;
    readonly unlimited: string;
    readonly concurrency: string;
    readonly seed: string;
    spread(length: string, share: string): string;
    sharedPrefix(length: string, shared: string): string;
    readonly commands: string;
    readonly time: string;
    readonly timeCaption: string;
    readonly began: string;
    readonly took: string;
    readonly starts: string;
    readonly starting: string;
    readonly warming: string;
    readonly loading: string;
  };
  readonly stages: {
    readonly heading: string;
    readonly nothing: string;
    readonly baseline: string;
    stage(number: number, name: string): string;
    incumbent(label: string): string;
    readonly servingCommand: string;
    tableCaption(stage: string, noise: string): string;
    /** Runs that count, of all. */
    runsOf(counted: number, all: number): string;
    readonly againstIncumbent: string;
    readonly incumbentMark: string;
    result(ranking: string): string;
    readonly tiedLegend: string;
    chosen(label: string): string;
    better(label: string, change: string, interval: string): string;
    /** The comparison that decided the stage, judged by the noise of the whole run: covered by it, or clear of it. */
    laterCovered(label: string, change: string, noise: string, interval: string): string;
    laterClear(label: string, change: string, noise: string, interval: string): string;
    readonly noDifference: string;
    readonly worse: string;
    readonly noneQualified: string;
    readonly notTried: string;
    readonly nothingToTry: string;
    readonly pending: string;
    readonly others: string;
  };
  readonly trial: {
    name(id: number): string;
    meanTtft(value: string): string;
    meanTpot(value: string): string;
    started(duration: string): string;
    warmed(duration: string): string;
    loaded(duration: string): string;
    excluded(reason: string): string;
    failed(id: number, fate: string): string;
    hint(text: string): string;
    logTail(lines: number): string;
    refusedBlock(id: number): string;
    effective(id: number): string;
    readonly effectiveCaption: string;
    readonly setting: string;
  };
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
  readonly further: {
    readonly heading: string;
    readonly introduction: string;
    readonly none: string;
    readonly notMeasured: string;
    caption(workload: string): string;
    readonly side: string;
  };
  readonly quality: {
    readonly heading: string;
    readonly noise: string;
    noiseMeasured(sd: string, repeats: number, priorRepeats: number): string;
    noiseAssumed(sd: string): string;
    readonly noiseFurther: string;
    readonly repeatedCaption: string;
    readonly values: string;
    readonly spread: string;
    readonly noneRepeated: string;
    readonly drift: string;
    driftSmall(first: string, last: string, change: string): string;
    driftLarge(first: string, last: string, change: string): string;
    readonly driftUnknown: string;
    readonly confirmation: string;
    confirmed(value: string, change: string, against: string): string;
    notConfirmed(value: string, change: string, against: string): string;
    readonly confirmationFailed: string;
    readonly confirmationMissing: string;
    readonly client: string;
    readonly clientCaption: string;
    readonly clientFigure: string;
    readonly worst: string;
    readonly loopDelayP99: string;
    readonly loopDelayMax: string;
    readonly cpuShare: string;
    cores(share: string): string;
    readonly sendLag: string;
    readonly clientFine: string;
    clientBound(trials: string, n: number): string;
    clientReason(trial: number, reason: string): string;
    readonly clientUnknown: string;
    readonly work: string;
    requests(asked: number, ok: number, failed: number, notSent: number): string;
    outputShare(share: string, trial: number): string;
    readonly failures: string;
    readonly noFailures: string;
    readonly failuresCaption: string;
    readonly fate: string;
    readonly warnings: string;
    readonly noWarnings: string;
    warning(text: string, trials: string, n: number): string;
  };
  readonly reproduce: {
    readonly heading: string;
    readonly serve: string;
    readonly serveBaseline: string;
    load(workload: string): string;
    readonly study: string;
    readonly studyFile: string;
    readonly redacted: string;
  };
}
