import { promptsHash } from '../datasets/hash.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { endpointNamed } from '../endpoints/table.ts';
import { now } from '../kit/clock.ts';
import { type Arrivals, atOnce } from '../load/arrivals.ts';
import type { LoadPlan } from '../load/plan.ts';
import type { LoadProgress } from '../load/progress.ts';
import { type LoadResult, runLoad } from '../load/runner.ts';
import type { LoadTarget } from '../load/target.ts';
import { workersFor } from '../load/workers.ts';
import { sanityProblems } from '../metrics/sanity.ts';
import { summarize } from '../metrics/summary.ts';
import type { RecordList, RequestSpec } from '../records/request.ts';
import type { ClientHealth, GoodputLimits, Summary } from '../records/summary.ts';
import { type Sampling, sampling, type WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { type PromptMaking, type PromptPool, warmupsOf } from './prompts.ts';
import { fieldsLeftOut, refusalNotes } from './ready.ts';
import { recount } from './recount.ts';

/** Percentiles that every summary of a study has. */
export const studyPercentiles = [90, 95, 99] as const;

export type LoadPhase = 'preparing prompts' | 'warming up' | 'measuring' | 'stress burst';

/** What a phase has got to: prompts made, or requests sent. */
export type PhaseProgress = LoadProgress | { readonly made: number; readonly of: number };

export interface WorkloadRunOptions {
  readonly workload: WorkloadOptions;
  readonly pool: PromptPool;
  /** Of the model that is served, or null where there is none; asked only where the pool must grow. */
  readonly tokenizer: Tokenizer | null;
  /**
   * Requests before the measurement, at the workload's concurrency, counted in no figure. A load with a minimum duration
   * has at least one wave of them.
   */
  readonly warmups: number;
  readonly percentiles: readonly number[];
  readonly goodput?: GoodputLimits;
  readonly stallTimeoutS?: number;
  readonly loadTimeoutS?: number;
  readonly recordsPath?: string;
  /** What goes into the requests besides the workload. */
  readonly more?: Pick<LoadPlan, 'extraBody' | 'requestIdPrefix' | 'keepText'> & { readonly logprobs?: number };
  /** How this side sends; as it thinks best when absent. */
  readonly client?: {
    readonly workers: number | 'auto';
    readonly preconnect: boolean;
    /** A client that could not keep up does not make the measurement invalid. */
    readonly allowBound: boolean;
  };
  readonly signal: AbortSignal;
  onPhase?(phase: LoadPhase, progress?: PhaseProgress): void;
  /** What each request of a list has of its own (a LoRA adapter); the same for the same place in the list. */
  assign?(requests: readonly RequestSpec[]): readonly RequestSpec[];
  /** Called with the prompts of the workload, before anything is sent. */
  beforeSending?(requests: readonly RequestSpec[]): Promise<void>;
  /** Called between warm-up and measurement. */
  beforeMeasuring?(): Promise<void>;
}

export interface WorkloadRun {
  readonly load: LoadResult;
  /** Those of the load, with tokens counted by the tokenizer where the server did not count them. */
  readonly records: RecordList;
  readonly summary: Summary;
  readonly client: ClientHealth;
  /** Why the numbers must not be believed; empty when they may. */
  readonly problems: readonly string[];
  /** sha256 over the prompts that could be sent. */
  readonly promptsHash: string;
  readonly warmupS: number;
  readonly loadS: number;
  /** When the load began, by the wall clock; for display. */
  readonly beganAt: Date;
}

/** Sends one workload to a server that is ready: prompts, warm-up, load, summary. */
export async function runWorkload(
  target: Omit<LoadTarget, 'endpoint'>,
  options: WorkloadRunOptions,
): Promise<WorkloadRun> {
  const { workload, pool, tokenizer, signal, onPhase, assign = (requests) => requests } = options;
  const endpoint = endpointNamed(workload.backend);
  const making: PromptMaking = {
    tokenizer,
    signal,
    onProgress: (made, of) => onPhase?.('preparing prompts', { made, of }),
  };

  onPhase?.('preparing prompts');
  const first = await pool.atLeast(workload.num_prompts, making);
  await options.beforeSending?.(first);
  const plan = { ...planOf(options), minRequests: Math.min(workload.num_prompts, first.length) };
  // A load by time needs prompts ready for as long as it lasts: without a warm-up nobody would know how many.
  const count = options.warmups > 0 || workload.min_duration_s === 0 ? options.warmups : warmupsOf(workload);
  const warmupBegan = now();
  let requestsPerS = 0;
  if (count > 0) {
    const warmups = await warmupRequests(options, first, count, making);
    // An id is for one request of the measurement.
    const { requestIdPrefix: _, ...unnamed } = plan;
    onPhase?.('warming up');
    const warmup = await runLoad(
      { ...target, endpoint },
      { ...unnamed, requests: warmups, minRequests: warmups.length, minDurationS: 0, arrivals: atOnce },
      { signal, onProgress: (progress) => onPhase?.('warming up', progress) },
    );
    requestsPerS = warmups.length / Math.max(1e-3, warmup.durationS);
  }
  const warmupS = now() - warmupBegan;
  // The warm-up is slower than what follows, and the load goes on until its time is over: three times the estimate.
  const wanted = Math.ceil(3 * requestsPerS * workload.min_duration_s);
  const requests = assign(wanted > first.length ? await pool.atLeast(wanted, making) : first);
  await options.beforeMeasuring?.();

  onPhase?.('measuring');
  const workers = options.client?.workers ?? 'auto';
  const loadBegan = now();
  const load = await runLoad(
    { ...target, endpoint },
    { ...plan, requests },
    {
      signal,
      workers: workers === 'auto' ? workersFor({ ...plan, requests }) : workers,
      preconnect: options.client?.preconnect ?? true,
      onProgress: (progress) => onPhase?.('measuring', progress),
      ...(options.recordsPath === undefined ? {} : { recordsPath: options.recordsPath }),
    },
  );
  const loadS = now() - loadBegan;
  const beganAt = new Date(Date.now() - load.durationS * 1000);
  // Whoever interrupts does not want to wait for that.
  const records = tokenizer && !signal.aborted ? await recount(load.records, tokenizer, signal) : load.records;
  const refused = refusedOf(requests, { ...plan.ask, model: target.model }, endpoint, options);
  const summary = summarize(records, {
    asked: load.asked,
    percentiles: options.percentiles,
    ...(options.goodput === undefined ? {} : { goodput: options.goodput }),
    requestRate: offeredRate(plan.arrivals),
    maxConcurrency: plan.maxConcurrency,
    generates: endpoint.generates,
    notes: [...pool.notes, ...refusalNotes(refused)],
  });
  const problems = [
    ...sanityProblems(summary, {
      pinnedOutput: workload.ignore_eos && endpoint.generates,
      ...(refused.includes('ignore_eos') ? { unpinnedBy: 'since the server refuses the field ignore_eos' } : {}),
    }),
    ...(load.ranOut === undefined ? [] : [load.ranOut]),
    ...(load.client.verdict === 'client_bound' && !options.client?.allowBound
      ? [`client-bound: ${load.client.reason}`]
      : []),
  ];
  const hash = promptsHash(requests.slice(0, load.asked));
  return { load, records, summary, client: load.client, problems, promptsHash: hash, warmupS, loadS, beganAt };
}

/** Fields that the server refuses, of those that the requests would have. */
function refusedOf(
  [request]: readonly RequestSpec[],
  ask: Parameters<Endpoint['body']>[1],
  endpoint: Endpoint,
  { more }: WorkloadRunOptions,
): readonly string[] {
  const body = request === undefined ? {} : endpoint.body(request, ask);
  return fieldsLeftOut(more?.extraBody).filter((field) => body[field] !== undefined);
}

/** The plan of the measured load, all but its requests. */
function planOf(options: WorkloadRunOptions): Omit<LoadPlan, 'requests' | 'minRequests'> {
  const { workload, more = {} } = options;
  const { logprobs, ...rest } = more;
  return {
    ...rest,
    minDurationS: workload.min_duration_s,
    maxConcurrency: workload.max_concurrency ?? null,
    arrivals: arrivalsOf(workload),
    ask: { ...askOf(workload), ...(logprobs === undefined ? {} : { logprobs }) },
    ...(workload.request_timeout_s === undefined ? {} : { requestTimeoutS: workload.request_timeout_s }),
    ...(options.stallTimeoutS === undefined ? {} : { stallTimeoutS: options.stallTimeoutS }),
    ...(options.loadTimeoutS === undefined ? {} : { loadTimeoutS: options.loadTimeoutS }),
  };
}

/** When the requests of the workload are due. */
export function arrivalsOf(workload: WorkloadOptions): Arrivals {
  const { ramp_up_strategy: strategy, ramp_up_start_rps: startRps, ramp_up_end_rps: endRps } = workload;
  const number = (value: number | 'inf'): number => (value === 'inf' ? Number.POSITIVE_INFINITY : value);
  return {
    requestRate: number(workload.request_rate),
    burstiness: number(workload.burstiness),
    seed: workload.seed,
    ...(strategy && startRps && endRps ? { rampUp: { strategy, startRps, endRps } } : {}),
  };
}

/** Requests a second that the arrivals come to in the end; Infinity for a burst. */
const offeredRate = ({ requestRate, rampUp }: Arrivals): number => rampUp?.endRps ?? requestRate;

/** What every request of the workload asks for. */
export const askOf = (workload: WorkloadOptions): LoadPlan['ask'] => ({
  sampling: samplingOf(workload),
  ignoreEos: workload.ignore_eos,
  compat: workload.compat,
});

/** The sampling options that the workload sets. */
const samplingOf = (workload: WorkloadOptions): Sampling =>
  Object.fromEntries(
    Object.keys(sampling.shape).flatMap((key) => {
      const value = workload[key as keyof Sampling];
      return value === undefined ? [] : [[key, value]];
    }),
  );

/** vLLM's own client warms up with the first prompt, again and again; its modes do the same, so that the cache is as warm. */
async function warmupRequests(
  { workload, pool, assign }: WorkloadRunOptions,
  requests: readonly RequestSpec[],
  count: number,
  making: PromptMaking,
): Promise<readonly RequestSpec[]> {
  const [first] = requests;
  if (workload.compat === 'servetune' || !first) {
    const warmups = await pool.warmups(count, making);
    return assign ? assign(warmups) : warmups;
  }
  return Array.from({ length: count }, (_, index) => ({ ...first, index }));
}
