/** Texts about what was measured, and on what. */
export interface SetupMessages {
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
  /** Where nothing was started: how long servers were waited for. */
  readonly waiting: string;
  readonly weights: string;
  readonly weightsCaption: string;
  readonly revision: string;
  /** Of weights that lie in files, so that no commit names them. */
  readonly localFiles: string;
  readonly size: string;
}
