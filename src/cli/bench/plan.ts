import type { Compat } from '../../records/compat.ts';
import type { GoodputLimits } from '../../records/summary.ts';
import type { WorkloadOptions } from '../../records/workload.ts';

/** Which server a load goes to. */
export interface ServerPlan {
  readonly baseUrl: URL;
  /** Path of the request in place of the backend's own. */
  readonly path?: string;
  /** From `--header` only; a key from the environment is not among them. Names as written. */
  readonly headers: Readonly<Record<string, string>>;
  /** Certificates are not checked. */
  readonly insecure: boolean;
  /** `--model`; absent asks the server for its first. Names the saved result. */
  readonly model?: string;
  /** The name to send in requests, where it is given: `--served-model-name`, else `--model`. */
  readonly sentModel?: string;
  /**
   * Where the tokenizer lies: `--tokenizer`. Null: none is wanted. Absent: the model's own, that of the server, or an
   * approximation.
   */
  readonly tokenizer?: string | null;
  /** One request is repeated until it is answered, this long at most; 0 sends none. Seconds. */
  readonly readyCheckTimeoutS: number;
  /** The server is told to profile the load. */
  readonly profile: boolean;
}

/** What each request has besides what the workload says. */
export interface RequestPlan {
  /** Each request gets this and its index as `x-request-id`. */
  readonly requestIdPrefix: string;
  /** Log probabilities of this many tokens. */
  readonly logprobs?: number;
  /** Laid over every request body, sampling parameters included. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Each request names one of the modules as its model. */
  readonly lora?: { readonly modules: readonly string[]; readonly assignment: 'random' | 'round-robin' };
}

/** How this side sends. */
export interface ClientPlan {
  readonly workers: number | 'auto';
  readonly preconnect: boolean;
  /** A client that could not keep up does not make the measurement invalid. */
  readonly allowBound: boolean;
}

/** What is printed and kept. */
export interface ResultPlan {
  /** Sections of the result block, in the order given. */
  readonly percentileMetrics: readonly string[];
  /** 0 to 100, in the order given. */
  readonly percentiles: readonly number[];
  readonly goodputLimitsMs?: GoodputLimits;
  /** A result file is written. */
  readonly save: boolean;
  /** It holds the figures and texts of each request. */
  readonly detailed: boolean;
  /** The result is added to the file. */
  readonly append: boolean;
  readonly dir?: string;
  readonly filename?: string;
  /** `--label` as given; absent is null in the result file. */
  readonly label?: string;
  /** Top-level keys of the result file, in the order given. */
  readonly metadata: readonly (readonly [key: string, value: string])[];
  /** File for the request records. */
  readonly recordsPath?: string;
  /** File for the summary in servetune's own layout. */
  readonly summaryPath?: string;
  /** No progress is shown. */
  readonly quiet: boolean;
}

/** One load against a server that runs already: everything checked, every default settled. */
export interface BenchPlan {
  readonly compat: Compat;
  /** When the run began, `YYYYMMDD-HHMMSS` in local time: `date` of the result file and the end of its usual name. */
  readonly date: string;
  readonly workload: WorkloadOptions;
  /** Requests before the measurement. */
  readonly warmups: number;
  readonly server: ServerPlan;
  readonly request: RequestPlan;
  readonly client: ClientPlan;
  readonly result: ResultPlan;
  /** What the user should know before the load begins, each a sentence. */
  readonly notes: readonly string[];
}
