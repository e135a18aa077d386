import { cachedMake } from '../datasets/kept/prompt-cache.ts';
import { endpointNamed } from '../endpoints/table.ts';
import type { Environment } from '../engines/engine.ts';
import { defaultCacheDir } from '../kit/cache-dir.ts';
import { sleep } from '../kit/clock.ts';
import { atOnce } from '../load/arrivals.ts';
import { openFileLimit } from '../load/preflight.ts';
import { type LoadPlan, type LoadResult, type LoadTarget, runLoad } from '../load/runner.ts';
import { workersFor } from '../load/workers.ts';
import type { RequestRecord, RequestSpec } from '../records/request.ts';
import type { Configuration, Settings } from '../records/settings.ts';
import type { StudySpec } from '../records/study.ts';
import type { StressBurst } from '../records/trial.ts';
import type { Workload } from '../records/workload.ts';
import { chooseTokenizer } from '../tokenizers/choose.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { classify, type Failure, type Moment } from './failure.ts';
import { declaredFor } from './places.ts';
import { datasetNamed, type PromptMaking, type PromptPool } from './prompts.ts';
import { answerOf, leftOut } from './ready.ts';
import type { RunningEngine } from './running-engine.ts';
import { deathMessage, endOf, type LoadOutcome } from './under-load.ts';
import { askOf, type LoadPhase, type PhaseProgress } from './workload.ts';

/** The burst holds so many times what fills the KV cache: enough that requests wait for it, and lose it again. */
const cacheFillings = 2;
/** Most tokens of a burst where the engine does not tell the size of its KV cache. */
const tokensUntold = 200_000;
/** Answers are shortened before requests are left out, but not below this. */
const shortestAnswer = 64;

/** Distance from the seed of the workload, other than that of warm-ups: no prompt of the burst was sent before. */
const seedOffset = 0x2000_0000;

const hint = 'lower max_running_requests, max_batched_tokens, context_length or gpu_memory_fraction';

export interface StressContext {
  readonly study: StudySpec;
  readonly environment: Environment;
  readonly signal: AbortSignal;
  pool(workload: Workload): PromptPool;
  onPhase(phase: LoadPhase, progress?: PhaseProgress): void;
}

/** What came of a burst. With a fate: the configuration cannot be recommended. */
export type StressOutcome = Partial<Pick<LoadOutcome, 'fate' | 'failure' | 'engineLost'>> & {
  readonly stress?: StressBurst;
};

/**
 * Sends an engine that is ready its largest batch, each request as long as the longest of the study, and judges whether
 * it lives. Its figures are of no interest. Nothing is sent where the study says so, nor to a server of somebody else's.
 * Throws when interrupted, and when the engine ended because its watchdog was killed.
 */
export async function stressBurst(
  running: RunningEngine,
  configuration: Configuration,
  context: StressContext,
): Promise<StressOutcome> {
  const { study, signal, environment, onPhase } = context;
  const { limits } = study;
  if (limits.stress_burst_tokens === 0 || declaredFor(study, configuration).url !== undefined) return {};
  const { engineProcess, baseUrl, model } = running;
  const { died, exited } = endOf(engineProcess);
  const both = AbortSignal.any([signal, died]);
  onPhase('stress burst');
  let tokenizer: Tokenizer | undefined;
  let stress: StressBurst | undefined;
  try {
    ({ tokenizer } = await chooseTokenizer({ baseUrl, model, env: environment, signal: both }));
    const making = { tokenizer, signal: both };
    const { workload, longest } = await longestOf(context, making);
    const shape = burstShape(longest, {
      together: togetherIn(study, configuration.settings, running.effectiveSettings),
      mostTokens: limits.stress_burst_tokens ?? tokensFor(configuration.settings, running.effectiveSettings),
      connections: connectionsFor(openFileLimit()),
    });
    const requests = await burstPrompts(workload, shape, making, environment);
    const target = { baseUrl, model, endpoint: endpointNamed(workload.backend) };
    const plan = planOf(workload, requests, limits, running.refusedFields);
    const load = await runLoad(target, plan, {
      signal: both,
      workers: workersFor(plan),
      onProgress: (progress) => onPhase('stress burst', progress),
    });
    signal.throwIfAborted();
    const records = [...load.records];
    const failed = load.asked - records.filter(({ outcome }) => outcome === 'ok').length;
    stress = { ...shape, durationS: load.durationS, failed };
    // When an engine dies its sockets close before its end is reported: wait for the news before judging the failures.
    if (failed > 0) await Promise.race([exited, sleep(1, signal)]);
    const failure = died.aborted
      ? undefined
      : await judged(running, { load, records, stress, target, plan, limits, signal: both });
    if (!died.aborted) return failure === undefined ? { stress } : { ...failure, stress, engineLost: true };
  } catch (error) {
    signal.throwIfAborted();
    if (!died.aborted) throw error;
  } finally {
    await tokenizer?.close?.();
  }
  const moment = { fate: 'crashed_under_load', message: deathMessage(await exited, nameOf(stress)), hint } as const;
  return { ...unfit(running, moment), ...(stress ? { stress } : {}), engineLost: true };
}

/** The request of the study that needs most tokens, prompt and answer together, and its workload. */
async function longestOf(
  { study, pool, onPhase }: StressContext,
  making: PromptMaking,
): Promise<{ readonly workload: Workload; readonly longest: RequestSpec }> {
  let found: { workload: Workload; longest: RequestSpec } | undefined;
  const tokens = ({ promptTokens, outputTokens }: RequestSpec): number => promptTokens + outputTokens;
  for (const workload of study.workloads) {
    const onProgress = (made: number, of: number): void => onPhase('stress burst', { made, of });
    for (const longest of await pool(workload).atLeast(workload.num_prompts, { ...making, onProgress })) {
      if (!found || tokens(longest) > tokens(found.longest)) found = { workload, longest };
    }
  }
  if (!found) throw new Error('no workload has a prompt'); // it was measured
  return found;
}

/**
 * How many requests an engine runs together: what it was told, else what it tells, else as many as the study sends at
 * most. Each replica (data_parallel) takes so many.
 */
function togetherIn(
  { workloads }: Pick<StudySpec, 'workloads'>,
  settings: Settings,
  effective: Readonly<Record<string, string>>,
): number {
  const own = Number(settings.max_running_requests ?? effective.max_running_requests);
  if (own > 0) return own * replicas(settings);
  return Math.max(...workloads.map((w) => Math.min(w.max_concurrency ?? w.num_prompts, w.num_prompts)));
}

/** Most tokens of a burst, where the study does not say. */
function tokensFor(settings: Settings, effective: Readonly<Record<string, string>>): number {
  const cache = Number(effective.kv_cache_tokens ?? effective.max_total_num_tokens);
  return cache > 0 ? cacheFillings * cache * replicas(settings) : tokensUntold;
}

const replicas = ({ data_parallel: replicated }: Settings): number =>
  typeof replicated === 'number' ? Math.max(1, replicated) : 1;

/** Half of the files that this process may open is left to everything else. */
const connectionsFor = (openFiles: number | null): number =>
  openFiles === null ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(openFiles / 2));

/** What bounds a burst. */
export interface BurstBounds {
  /** Requests that the engine runs at once. */
  readonly together: number;
  /** Prompts and answers of all requests, tokens. */
  readonly mostTokens: number;
  readonly connections: number;
}

/**
 * As many requests as run together, each like the longest. Where those are too many tokens the answers get shorter first,
 * since batch and prompts are what takes memory beside the KV cache, and then the requests fewer. At least one is sent.
 */
export function burstShape(
  { promptTokens, outputTokens }: Pick<RequestSpec, 'promptTokens' | 'outputTokens'>,
  { together, mostTokens, connections }: BurstBounds,
): Pick<StressBurst, 'requests' | 'promptTokens' | 'outputTokens'> {
  const most = Math.min(together, connections);
  const affordable = Math.floor(mostTokens / most) - promptTokens;
  const answer = Math.min(outputTokens, Math.max(affordable, shortestAnswer));
  const requests = Math.max(1, Math.min(most, Math.floor(mostTokens / (promptTokens + answer))));
  return { requests, promptTokens, outputTokens: answer };
}

/** Prompts that nobody has sent before, so that no cache makes them light. */
async function burstPrompts(
  workload: Workload,
  { requests, promptTokens, outputTokens }: Pick<StressBurst, 'requests' | 'promptTokens' | 'outputTokens'>,
  { tokenizer, signal }: PromptMaking,
  environment: Environment,
): Promise<readonly RequestSpec[]> {
  const options = {
    ...workload,
    dataset_name: 'random' as const,
    dataset_path: undefined,
    random_input_len: Math.max(1, promptTokens) + (tokenizer?.specialTokenCount ?? 0),
    random_output_len: Math.max(1, outputTokens),
    random_range_ratio: 0,
    random_prefix_len: 0,
    compat: 'servetune' as const,
    seed: (workload.seed + seedOffset) % 2 ** 32,
  };
  const made = await cachedMake(datasetNamed('random'), options, requests, {
    tokenizer,
    signal,
    serverTemplates: endpointNamed(workload.backend).templates,
    cacheDir: defaultCacheDir(environment),
  });
  return made.requests;
}

function planOf(
  workload: Workload,
  requests: readonly RequestSpec[],
  limits: StudySpec['limits'],
  refusedFields: readonly string[],
): LoadPlan {
  return {
    requests,
    minRequests: requests.length,
    minDurationS: 0,
    maxConcurrency: requests.length,
    arrivals: atOnce,
    ask: { ...askOf(workload), ignoreEos: true },
    stallTimeoutS: limits.stall_timeout_s,
    loadTimeoutS: limits.load_timeout_s,
    ...(refusedFields.length > 0 ? { extraBody: leftOut(refusedFields) } : {}),
  };
}

/** A refusal in words: too long, too many, not now. The engine knows what it does. */
const isRefused = ({ outcome, httpStatus = 0 }: RequestRecord): boolean =>
  outcome === 'http_error' && (httpStatus < 500 || httpStatus === 503);

/** Requests that went wrong while the engine was at work on them; those that we gave up are not its fault. */
const isLost = (record: RequestRecord): boolean =>
  record.outcome !== 'ok' && record.outcome !== 'cancelled' && !isRefused(record);

/** Why an engine that has not ended is unfit all the same; undefined when it is fit. */
async function judged(
  running: RunningEngine,
  burst: {
    readonly load: LoadResult;
    readonly records: readonly RequestRecord[];
    readonly stress: StressBurst;
    readonly target: LoadTarget;
    readonly plan: LoadPlan;
    readonly limits: StudySpec['limits'];
    readonly signal: AbortSignal;
  },
): Promise<Failure | undefined> {
  const { load, records, target, plan, limits, signal } = burst;
  const name = nameOf(burst.stress);
  const stallS = limits.stall_timeout_s;
  if (load.ended === 'hung') {
    return unfit(running, { fate: 'hung', message: `no byte from any stream for ${stallS} s under ${name}`, hint });
  }
  const errors = [...new Set(records.filter(isLost).map(({ error, outcome }) => error ?? outcome))];
  if (errors.length === 0) return undefined;
  const moment = { fate: 'crashed_under_load', message: `requests failed under ${name}`, hint } as const;
  if (errors.some((text) => deadly(running).some(({ pattern }) => pattern.test(text)))) {
    return unfit(running, moment, errors);
  }
  // It lost answers and lives: does it still give any?
  const [first] = plan.requests;
  const one = { ...(first as RequestSpec), index: 0, outputTokens: 1 };
  const { extraBody } = plan;
  const again = { requestTimeoutS: stallS, ...(extraBody ? { extraBody } : {}) };
  const { outcome, error } = await answerOf(target, one, plan.ask, signal, again);
  if (outcome === 'ok') return undefined;
  const fate = outcome === 'timeout' ? 'hung' : 'crashed_under_load';
  const message = `the engine answers no more after ${name} (${error ?? outcome})`;
  return unfit(running, { fate, message, hint });
}

/** What an engine dies of under load; it may also have logged what it refused, which is none of it. */
const deadly = ({ engine }: RunningEngine): RunningEngine['engine']['symptoms'] =>
  engine.symptoms.filter(({ fate }) => fate !== 'unsupported_setting');

/** Names a failure of the burst by the log, or by what failed requests were told. */
function unfit(running: RunningEngine, moment: Moment, told?: readonly string[]): Failure {
  const log = running.engineProcess.logTail(400);
  const { fate, failure } = classify({ symptoms: deadly(running) }, moment, told ?? log);
  return { fate: fate === 'out_of_memory' ? fate : moment.fate, failure: { ...failure, logTail: log.slice(-40) } };
}

const nameOf = (stress: StressBurst | undefined): string =>
  stress === undefined
    ? 'the stress burst'
    : `the stress burst of ${stress.requests} requests of ${stress.promptTokens} + ${stress.outputTokens} tokens`;
