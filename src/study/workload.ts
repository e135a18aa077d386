import { promptsHash } from '../datasets/hash.ts';
import { datasets } from '../datasets/table.ts';
import { endpoints } from '../endpoints/table.ts';
import { now } from '../kit/clock.ts';
import type { LoadProgress } from '../load/progress.ts';
import { type LoadResult, runLoad } from '../load/runner.ts';
import type { LoadTarget } from '../load/target.ts';
import { sanityProblems } from '../metrics/sanity.ts';
import { summarize } from '../metrics/summary.ts';
import type { RequestSpec } from '../records/request.ts';
import type { ClientHealth, Summary } from '../records/summary.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';

/** Percentiles that every summary of a study has. */
export const studyPercentiles = [90, 95, 99] as const;

/** Distance between the seeds of measured prompts and of warm-up prompts, so that a warm-up never fills a prefix cache for them. */
const warmupSeedOffset = 0x4000_0000;

/** One full wave at the workload's concurrency. */
export const warmupsOf = (workload: Pick<WorkloadOptions, 'max_concurrency' | 'num_prompts'>): number =>
  Math.min(workload.max_concurrency ?? workload.num_prompts, workload.num_prompts);

/**
 * The prompts of one workload, made on demand and kept. The first `num_prompts` are those of the workload's seed; a load
 * that goes on for a minimum duration takes those of seed + 1, seed + 2, ... so a longer load begins with the same
 * prompts as a shorter one.
 */
export class PromptPool {
  readonly #workload: WorkloadOptions;
  readonly #prompts: RequestSpec[] = [];
  #warmups: readonly RequestSpec[] = [];
  #rounds = 0;

  constructor(workload: WorkloadOptions) {
    this.#workload = workload;
  }

  /** At least `count` prompts, and never fewer than `num_prompts`. */
  async atLeast(count: number, tokenizer: Tokenizer, signal: AbortSignal): Promise<readonly RequestSpec[]> {
    while (this.#prompts.length < Math.max(count, this.#workload.num_prompts)) {
      const round = await this.#make(this.#rounds++, this.#workload.num_prompts, tokenizer, signal);
      for (const spec of round) this.#prompts.push({ ...spec, index: this.#prompts.length });
    }
    return this.#prompts;
  }

  /** `count` prompts of the same shape that no measured load sends. */
  async warmups(count: number, tokenizer: Tokenizer, signal: AbortSignal): Promise<readonly RequestSpec[]> {
    if (this.#warmups.length < count) this.#warmups = await this.#make(warmupSeedOffset, count, tokenizer, signal);
    return this.#warmups.slice(0, count);
  }

  #make(seedOffset: number, count: number, tokenizer: Tokenizer, signal: AbortSignal): Promise<readonly RequestSpec[]> {
    const dataset = datasets.find((d) => d.name === this.#workload.dataset_name);
    if (!dataset) throw new Error(`no dataset ${this.#workload.dataset_name}`); // the schema's names are the table's
    const seed = (this.#workload.seed + seedOffset) % 2 ** 32;
    return dataset.make({ ...this.#workload, seed }, count, tokenizer, signal);
  }
}

export type LoadPhase = 'preparing prompts' | 'warming up' | 'measuring';

export interface WorkloadRunOptions {
  readonly workload: WorkloadOptions;
  readonly pool: PromptPool;
  /** Of the model that is served; asked only where the pool must grow. */
  readonly tokenizer: Tokenizer;
  /**
   * Requests before the measurement, at the workload's concurrency, counted in no figure. A load with a minimum duration
   * has at least one wave of them.
   */
  readonly warmups: number;
  readonly percentiles: readonly number[];
  readonly stallTimeoutS?: number;
  readonly loadTimeoutS?: number;
  readonly recordsPath?: string;
  readonly signal: AbortSignal;
  onPhase?(phase: LoadPhase, progress?: LoadProgress): void;
  /** Called between warm-up and measurement. */
  beforeMeasuring?(): Promise<void>;
}

export interface WorkloadRun {
  readonly load: LoadResult;
  readonly summary: Summary;
  readonly client: ClientHealth;
  /** Why the numbers must not be believed; empty when they may. */
  readonly problems: readonly string[];
  /** sha256 over the prompts that could be sent. */
  readonly promptsHash: string;
  readonly warmupS: number;
  readonly loadS: number;
}

/** Sends one workload to a server that is ready: prompts, warm-up, load, summary. */
export async function runWorkload(
  target: Omit<LoadTarget, 'endpoint'>,
  options: WorkloadRunOptions,
): Promise<WorkloadRun> {
  const { workload, pool, tokenizer, signal, onPhase } = options;
  const endpoint = endpoints.find((e) => e.name === workload.backend);
  if (!endpoint) throw new Error(`no endpoint ${workload.backend}`); // the schema's names are the table's
  const plan = {
    maxConcurrency: workload.max_concurrency ?? null,
    requestRate: workload.request_rate === 'inf' ? Number.POSITIVE_INFINITY : workload.request_rate,
    seed: workload.seed,
    temperature: workload.temperature,
    ignoreEos: workload.ignore_eos,
    ...(workload.request_timeout_s === undefined ? {} : { requestTimeoutS: workload.request_timeout_s }),
    ...(options.stallTimeoutS === undefined ? {} : { stallTimeoutS: options.stallTimeoutS }),
    ...(options.loadTimeoutS === undefined ? {} : { loadTimeoutS: options.loadTimeoutS }),
  };

  onPhase?.('preparing prompts');
  await pool.atLeast(workload.num_prompts, tokenizer, signal);
  // A load by time needs prompts ready for as long as it lasts: without a warm-up nobody would know how many.
  const count = options.warmups > 0 || workload.min_duration_s === 0 ? options.warmups : warmupsOf(workload);
  const warmups = await pool.warmups(count, tokenizer, signal);
  const warmupBegan = now();
  let requestsPerS = 0;
  if (warmups.length > 0) {
    onPhase?.('warming up');
    const warmup = await runLoad(
      { ...target, endpoint },
      {
        ...plan,
        requests: warmups,
        minRequests: warmups.length,
        minDurationS: 0,
        requestRate: Number.POSITIVE_INFINITY,
      },
      { signal, onProgress: (progress) => onPhase?.('warming up', progress) },
    );
    requestsPerS = warmups.length / Math.max(1e-3, ...warmup.records.map((r) => r.endS));
  }
  const warmupS = now() - warmupBegan;
  // The warm-up is slower than what follows, and the load goes on until its time is over: three times the estimate.
  const requests = await pool.atLeast(Math.ceil(3 * requestsPerS * workload.min_duration_s), tokenizer, signal);
  await options.beforeMeasuring?.();

  onPhase?.('measuring');
  const loadBegan = now();
  const load = await runLoad(
    { ...target, endpoint },
    { ...plan, requests, minRequests: workload.num_prompts, minDurationS: workload.min_duration_s },
    {
      signal,
      onProgress: (progress) => onPhase?.('measuring', progress),
      ...(options.recordsPath === undefined ? {} : { recordsPath: options.recordsPath }),
    },
  );
  const loadS = now() - loadBegan;
  const summary = summarize(load.records, { asked: load.asked, percentiles: options.percentiles });
  const problems = [
    ...sanityProblems(summary, { pinnedOutput: workload.ignore_eos }),
    ...(load.ranOut === undefined ? [] : [load.ranOut]),
    ...(load.client.verdict === 'client_bound' ? [`client-bound: ${load.client.reason}`] : []),
  ];
  const hash = promptsHash(requests.slice(0, load.asked));
  return { load, summary, client: load.client, problems, promptsHash: hash, warmupS, loadS };
}
