/** Texts about how far the figures can be trusted. */
export interface QualityMessages {
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
  /** The same where no engine was started for them. */
  readonly repeatedAttached: string;
  confirmedAttached(value: string, change: string, against: string): string;
  notConfirmedAttached(value: string, change: string, against: string): string;
  /** Of the stress burst: what was sent at once. */
  burst(requests: number, promptTokens: number, outputTokens: number): string;
  stressed(burst: string, duration: string): string;
  stressedFailed(burst: string, duration: string, failed: number): string;
}
