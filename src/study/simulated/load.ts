import type { Lengths } from '../../datasets/dataset.ts';
import { arrivalTimes } from '../../load/arrivals.ts';
import type { Configuration } from '../../records/settings.ts';
import type { Workload } from '../../records/workload.ts';
import type { Simulable } from '../../simulator/deployment.ts';
import { type Load, simulate } from '../../simulator/simulate.ts';
import { arrivalsOf } from '../workload.ts';
import type { LengthsPool } from './lengths.ts';
import type { Refused, SimulatedPart } from './records.ts';

/** What a load came to. */
export interface SimulatedLoad {
  readonly parts: readonly SimulatedPart[];
  readonly refused: readonly Refused[];
  /** Requests that were to be sent. */
  readonly asked: number;
  readonly durationS: number;
  readonly notes: readonly string[];
  /** The dataset had too few requests for the duration that was asked for. */
  readonly ranOut?: string;
}

/** What requests meet besides the scheduler. */
export interface Serving {
  readonly able: Simulable;
  /** Most tokens that prompt and answer may have together. */
  readonly contextTokens: number;
  readonly prefixCaching: boolean;
  readonly seed: number;
}

/** What of a configuration requests meet outside of the scheduler. */
export function limitsOf(
  { settings }: Configuration,
  maxPositions: number,
): Pick<Serving, 'contextTokens' | 'prefixCaching'> {
  const { context_length: context, prefix_caching: caching } = settings;
  return { contextTokens: typeof context === 'number' ? context : maxPositions, prefixCaching: caching !== false };
}

/** Simulates a workload, as long as its least duration is not over with as many more requests as that takes. */
export async function simulatedLoad(workload: Workload, pool: LengthsPool, serving: Serving): Promise<SimulatedLoad> {
  const { min_duration_s: leastS, num_prompts: least } = workload;
  for (let count = least; ; count *= 2) {
    const all = await pool.atLeast(count);
    const made = Math.min(count, all.promptTokens.length);
    const run = simulateFirst(made, workload, all, serving);
    if (run.durationS >= leastS || made < count) {
      const until = leastS === 0 ? made : Math.max(Math.min(least, made), sentBefore(leastS, run.parts));
      const whole = until === made ? run : simulateFirst(until, workload, all, serving);
      const ranOut = `all ${made} prepared requests had ended after ${run.durationS.toFixed(1)} s of the ${leastS} s asked for`;
      return { ...whole, ...(run.durationS < leastS ? { ranOut } : {}), notes: all.notes };
    }
  }
}

/** Requests are sent in their order. */
const sentBefore = (timeS: number, parts: readonly SimulatedPart[]): number =>
  parts.reduce((sum, { outcome }) => sum + outcome.sendS.filter((sendS) => !(sendS >= timeS)).length, 0);

type Run = Omit<SimulatedLoad, 'notes' | 'ranOut'>;

function simulateFirst(count: number, workload: Workload, all: Lengths, serving: Serving): Run {
  const { able, contextTokens, seed } = serving;
  const { max_concurrency: concurrency } = workload;
  const arrivalsS = all.dueS ?? arrivalTimes(count, arrivalsOf(workload));
  const cached = serving.prefixCaching ? all.sharedTokens : undefined;
  const refused: Refused[] = [];
  const taken: number[] = [];
  for (let index = 0; index < count; index++) {
    const [promptTokens, outputTokens] = [all.promptTokens[index] as number, all.outputTokens[index] as number];
    const tokens = promptTokens + outputTokens;
    if (tokens <= contextTokens) taken.push(index);
    else {
      const reason = `prompt and answer have ${tokens} tokens, more than the longest sequence of ${contextTokens}`;
      refused.push({ index, promptTokens, outputTokens, reason });
    }
  }
  const { replicas, spec, drafts } = able;
  const { blockTokens } = spec.options;
  const parts = Array.from({ length: replicas }, (_, replica): SimulatedPart => {
    // Copies of the model get the requests by turns.
    const ids = Int32Array.from(taken.filter((_, place) => place % replicas === replica));
    const load: Load = {
      arrivalsS: Float64Array.from(ids, (id) => arrivalsS[id] as number),
      promptTokens: Int32Array.from(ids, (id) => all.promptTokens[id] as number),
      outputTokens: Int32Array.from(ids, (id) => all.outputTokens[id] as number),
      // Whole blocks, and never the last token of a prompt: its logits are wanted.
      ...(cached === undefined
        ? {}
        : {
            cachedTokens: Int32Array.from(ids, (id) => {
              const most = Math.min(cached[id] as number, (all.promptTokens[id] as number) - 1);
              return Math.floor(most / blockTokens) * blockTokens;
            }),
          }),
      maxConcurrency: concurrency === undefined ? null : share(concurrency, replica, replicas),
    };
    return { ids, load, outcome: simulate(spec, load, drafts, seed) };
  });
  const durationS = Math.max(...parts.map(({ outcome }) => outcome.durationS));
  return { parts, refused, asked: count, durationS };
}

const share = (whole: number, part: number, parts: number): number =>
  Math.max(1, Math.floor(whole / parts) + (part < whole % parts ? 1 : 0));
