import type { Environment } from '../../engines/engine.ts';
import { type Ceiling, ceilingOf } from '../../hardware/ceiling.ts';
import type { Fit } from '../../hardware/fit.ts';
import type { Configuration } from '../../records/settings.ts';
import type { Workload } from '../../records/workload.ts';
import { type Figures, figuresOf } from '../../simulator/figures.ts';
import type { LoadedStudy } from '../load-study.ts';
import type { LengthsPool } from '../simulated/lengths.ts';
import { limitsOf, simulatedLoad } from '../simulated/load.ts';
import { prepareSimulation, type Simulation } from '../simulated/simulation.ts';
import { startOf } from '../simulated/start.ts';
import { spanned } from '../span.ts';
import { workloadNamed } from '../trial.ts';

/** What is predicted of one configuration under the workload that decides. */
export interface Prediction {
  readonly configuration: Configuration;
  /** The stage that tries it; absent of the baseline. */
  readonly stage?: string;
  /** Why nothing is predicted: it would not start, or is not modelled. */
  readonly refused: string | null;
  readonly fit: Fit | null;
  readonly ceiling: Ceiling | null;
  /** Of all replicas together. */
  readonly figures: Figures | null;
  /** Total token throughput over the ceiling, 0 to 1. */
  readonly shareOfCeiling: number | null;
  /** Its throughput is as good as the best within what the prediction may be off. */
  readonly tiedWithBest: boolean;
  readonly notModelled: readonly string[];
}

export interface StudyPrediction {
  readonly workload: string;
  readonly hardware: string;
  readonly gpus: number;
  /** In the study's order. */
  readonly predictions: readonly Prediction[];
  /** Differences below this share are no differences. */
  readonly tieShare: number;
  /** Beside every figure. */
  readonly notes: readonly string[];
}

/** Without a calibration nobody can tell closer configurations apart than that. */
const uncalibratedTie = 0.15;

/**
 * Predicts every configuration that a study may try, under the workload that decides: whether it fits, what the hardware
 * could do at most, and what the simulation says.
 *
 * @param expectedError of the calibration, a share; null without one
 */
export async function predictStudy(
  { file, space }: LoadedStudy,
  {
    environment,
    signal,
    expectedError,
  }: {
    readonly environment: Environment;
    readonly signal: AbortSignal;
    readonly expectedError: number | null;
  },
): Promise<StudyPrediction> {
  const { study } = file;
  const simulation = await prepareSimulation(file, environment, signal);
  const workload = workloadNamed(study, study.objective.workload ?? (study.workloads[0]?.name as string));
  const pool = simulation.lengths.get(workload.name) as LengthsPool;
  const rows: Omit<Prediction, 'tiedWithBest'>[] = [];
  for (const { configuration, stage } of spanned(space)) {
    signal.throwIfAborted();
    const predicted = await predict(simulation, configuration, workload, pool);
    rows.push({ configuration, ...(stage === undefined ? {} : { stage }), ...predicted });
  }
  const tieShare = expectedError === null ? uncalibratedTie : expectedError;
  const best = Math.max(0, ...rows.map(({ figures }) => figures?.totalTokensPerS ?? 0));
  return {
    workload: workload.name,
    hardware: simulation.on.hardware.name,
    gpus: simulation.on.count,
    predictions: rows.map((row) => ({
      ...row,
      tiedWithBest: best > 0 && (row.figures?.totalTokensPerS ?? 0) >= best * (1 - tieShare),
    })),
    tieShare,
    notes: (await pool.atLeast(1)).notes,
  };
}

type Predicted = Omit<Prediction, 'configuration' | 'stage' | 'tiedWithBest'>;

async function predict(
  { shape, on, parameters }: Simulation,
  configuration: Configuration,
  workload: Workload,
  pool: LengthsPool,
): Promise<Predicted> {
  const nothing = { fit: null, ceiling: null, figures: null, shareOfCeiling: null, notModelled: [] };
  const started = startOf({ configuration, shape, hardware: on.hardware }, parameters, on.count);
  if ('fate' in started) {
    const { message, hint } = started.failure;
    return { ...nothing, refused: [message.replace(/^simulated: /, ''), hint].filter(Boolean).join('; ') };
  }
  const { able } = started;
  const load = await simulatedLoad(workload, pool, {
    able,
    ...limitsOf(configuration, shape.maxPositions),
    seed: workload.seed,
  });
  const figures = together(load.parts.map((part) => figuresOf(part.load, part.outcome)));
  const ceiling = ceilingOf({
    shape,
    hardware: on.hardware,
    precision: able.precision,
    kvDtype: able.kvDtype,
    tensorParallel: able.tensorParallel,
    memoryFraction: 1,
    requests: load.parts.flatMap((part) =>
      Array.from(part.load.promptTokens, (input, i) => ({ input, output: part.load.outputTokens[i] as number })),
    ),
    ...(workload.max_concurrency === undefined ? {} : { maxConcurrency: workload.max_concurrency }),
  });
  const most = ceiling.totalTokensPerS * able.replicas;
  const total = figures?.totalTokensPerS ?? null;
  return {
    refused: figures === null ? (load.refused[0]?.reason ?? 'no request would be computed') : null,
    fit: able.fit,
    ceiling,
    figures,
    shareOfCeiling: total === null || most === 0 ? null : total / most,
    notModelled: able.notModelled,
  };
}

/** Figures of several replicas as those of one server: they begin together, and the slowest ends it. */
function together(parts: readonly Figures[]): Figures | null {
  const done = parts.filter(({ completed }) => completed > 0);
  const [first, ...rest] = done;
  if (first === undefined || rest.length === 0) return first ?? null;
  const durationS = Math.max(...done.map((part) => part.durationS));
  const sum = (of: (part: Figures) => number): number => done.reduce((total, part) => total + of(part), 0);
  const perS = (of: (part: Figures) => number | null): number =>
    sum((part) => (of(part) ?? 0) * part.durationS) / durationS;
  // Requests go round, so that every replica has the same mix: the spread of one is that of all.
  return {
    ...first,
    completed: sum(({ completed }) => completed),
    refused: sum(({ refused }) => refused),
    durationS,
    totalTokensPerS: perS(({ totalTokensPerS }) => totalTokensPerS),
    outputTokensPerS: perS(({ outputTokensPerS }) => outputTokensPerS),
    requestsPerS: perS(({ requestsPerS }) => requestsPerS),
  };
}
