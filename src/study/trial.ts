import { join } from 'node:path';
import type { Environment } from '../engines/engine.ts';
import { commandWords } from '../hosts/host.ts';
import { defaultCacheDir } from '../kit/cache-dir.ts';
import { wallTime } from '../kit/clock.ts';
import { ServetuneError } from '../kit/errors.ts';
import { makeFolder, onRunDisk } from '../kit/files.ts';
import type { Gpu } from '../records/gpu.ts';
import type { ModelShape } from '../records/model-shape.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial, Proposal, Trial } from '../records/trial.ts';
import type { Workload } from '../records/workload.ts';
import type { Store } from '../store/store.ts';
import { type MemoryUse, memoryOf, waitForMemory } from '../telemetry/memory.ts';
import { changedSettings, type Failure } from './failure.ts';
import { loadCommand } from './load-command.ts';
import { judge } from './physics.ts';
import { engineNamed } from './places.ts';
import { PromptPool } from './prompts.ts';
import { configurationProblems } from './resolve.ts';
import { firstPort, servingCommandOf, startEngine, stopEngine } from './running-engine.ts';
import type { Simulation } from './simulated/simulation.ts';
import { isSimulated } from './simulated/study.ts';
import { simulateTrial } from './simulated/trial.ts';
import { stressBurst } from './stress.ts';
import { underLoad } from './under-load.ts';
import type { LoadPhase, PhaseProgress } from './workload.ts';

export type Phase = 'starting' | LoadPhase | 'stopping';

/** What every trial of a run shares. */
export interface TrialContext {
  readonly study: StudySpec;
  readonly runDir: string;
  readonly store: Store;
  readonly environment: Environment;
  readonly signal: AbortSignal;
  /** Those that engines may use. */
  readonly gpus: readonly Gpu[];
  /** The model's, where it is known: what the GPUs can do at most follows from it. */
  readonly shape: ModelShape | null;
  /** Prompts by workload; the model, and so its tokenizer, is the same for every configuration. */
  readonly pools: Map<string, PromptPool>;
  /** Nothing is started: trials are predicted, in virtual time. */
  readonly simulation?: Simulation;
  onPhase(trial: Trial, phase: Phase, progress?: PhaseProgress): void;
  onFinished(trial: FinishedTrial): void;
}

/** Folder of a trial's records and log. */
export const trialDir = (runDir: string, id: number): string => join(runDir, 'trials', String(id).padStart(3, '0'));

/** A trial that has its number and has not begun. */
type Planned = Omit<Trial, 'beganAt'>;

/**
 * The life of one engine start: start, wait until it serves, then each workload (warm-up, load), then stop. Each trial
 * is in the store as soon as it is over. Failures are rows; only the user's interruption and a disk that refuses throw,
 * and then too the engine is gone when this returns.
 */
export async function measureProposal(context: TrialContext, proposal: Proposal): Promise<void> {
  const { study } = context;
  const { configuration } = proposal;
  const engine = engineNamed(configuration.engine);
  const planned = plan(context.store, proposal);
  const [first, ...rest] = planned as [Planned, ...Planned[]];

  const impossible = refusal(study, proposal);
  if (impossible) {
    const servingCommand = commandWords(servingCommandOf(engine, study, configuration, firstPort));
    for (const trial of planned) end(context, begin(context, trial), { ...impossible, servingCommand, times: {} });
    return;
  }

  const { simulation } = context;
  if (simulation) {
    for (const trial of planned) await simulated({ ...context, simulation }, proposal, trial, trial === first);
    return;
  }

  const begun = begin(context, first);
  context.onPhase(begun, 'starting');
  const { environment, gpus, signal } = context;
  const memoryBefore = await memoryOf(gpus, environment, signal).catch(() => undefined);
  signal.throwIfAborted();
  const dir = trialDir(context.runDir, first.id);
  const start = await startEngine(engine, configuration, { study, environment, dir, signal });
  const { startS, parts, compileCache, running, servingCommand } = start;
  const startTimes = { startS, ...(parts ? { parts } : {}), ...(compileCache ? { compileCache } : {}) };
  if (!running) {
    const { fate, failure: alone } = start.failure as Failure;
    const failure = withChanges(alone, proposal);
    end(context, begun, { fate, failure, servingCommand, times: startTimes }, start);
    for (const trial of rest) end(context, begin(context, trial), { fate, failure, servingCommand, times: {} }, start);
    await waitUntilFree(context, memoryBefore);
    return;
  }

  try {
    let lost: Failure | undefined;
    for (const trial of planned) {
      const current = trial === first ? begun : begin(context, trial);
      if (lost) {
        end(context, current, { ...lost, servingCommand, times: {} }, running);
        continue;
      }
      const workload = workloadNamed(study, trial.workload);
      const onPhase = (phase: LoadPhase, progress?: PhaseProgress): void => context.onPhase(current, phase, progress);
      const pool = (w: Workload): PromptPool => poolFor(context, w);
      const measured = await underLoad(running, workload, {
        limits: study.limits,
        pool: pool(workload),
        environment,
        gpus,
        judged: ({ records, summary }) =>
          judge(configuration, context, { records, summary, maxConcurrency: workload.max_concurrency ?? null }),
        recordsPath: join(trialDir(context.runDir, trial.id), 'records.jsonl'),
        signal,
        onPhase,
      });
      // After the measurement, which must find the engine as the trials before found theirs.
      const stressed =
        trial.purpose === 'confirmation' && !measured.engineLost
          ? await stressBurst(running, configuration, { ...context, pool, onPhase })
          : {};
      const { engineLost, ...outcome } = { ...measured, ...stressed };
      const { effectiveSettings } = running;
      const times = { ...(trial === first ? startTimes : {}), ...outcome.times };
      const failure = outcome.failure && withChanges(outcome.failure, proposal);
      const told = Object.keys(effectiveSettings).length > 0 ? { effectiveSettings } : {};
      end(context, current, { ...outcome, ...(failure ? { failure } : {}), ...told, servingCommand, times }, running);
      if (engineLost && outcome.failure) lost = { fate: outcome.fate as Failure['fate'], failure: outcome.failure };
    }
    context.onPhase({ ...begun, ...(planned.at(-1) as Planned) }, 'stopping');
    await stopEngine(running.engineProcess);
    await waitUntilFree(context, memoryBefore);
  } finally {
    await running.engineProcess.stop();
  }
}

async function simulated(
  context: TrialContext & { readonly simulation: Simulation },
  proposal: Proposal,
  planned: Planned,
  starts: boolean,
): Promise<void> {
  const { study, simulation, signal } = context;
  const { configuration } = proposal;
  const begun = begin(context, planned);
  context.onPhase(begun, 'measuring');
  const outcome = await simulateTrial(simulation, {
    trial: planned,
    workload: workloadNamed(study, planned.workload),
    starts,
    recordsPath: join(trialDir(context.runDir, planned.id), 'records.jsonl'),
    signal,
  });
  const engine = engineNamed(configuration.engine);
  const servingCommand = commandWords(servingCommandOf(engine, study, configuration, firstPort));
  const failure = outcome.failure && withChanges(outcome.failure, proposal);
  end(context, begun, { ...outcome, ...(failure ? { failure } : {}), servingCommand });
}

/** What is different from the configuration that it was derived from is where to look. */
function withChanges(
  failure: NonNullable<FinishedTrial['failure']>,
  { configuration, parent }: Proposal,
): NonNullable<FinishedTrial['failure']> {
  const changed = parent === undefined ? [] : changedSettings(configuration, parent);
  return changed.length === 0 ? failure : { ...failure, changed };
}

/**
 * Waits until the engine's GPU memory is free again: the next one would find it taken, and fail by no fault of its own.
 * Throws a ServetuneError that names who holds it.
 */
async function waitUntilFree(
  { gpus, environment, signal }: TrialContext,
  before: MemoryUse | undefined,
): Promise<void> {
  if (before === undefined) return;
  const { held, waitedS } = await waitForMemory(gpus, before, environment, signal);
  const [first] = held;
  if (first === undefined) return;
  const who = held.flatMap(({ holders }) => holders.map(({ pid, name }) => `pid ${pid} (${name})`));
  throw new ServetuneError(
    'gpu_memory_held',
    `${Math.round(waitedS)} s after the engine ended, GPU ${first.index} still holds ${Math.round(first.usedMiB - first.baselineMiB)} MiB`,
    {
      hint: `${who.length > 0 ? `end ${who.join(', ')}` : 'end what holds it (nvidia-smi)'}, then go on with --resume`,
    },
  );
}

/** The trials of a proposal, numbered on from those that the run has. */
function plan(store: Store, { configuration, measure, stage, reason }: Proposal): readonly Planned[] {
  const counters = store.counters();
  return measure.map(({ workload, purpose }, i) => ({
    id: counters.trial + 1 + i,
    engineStart: counters.engineStart + 1,
    configuration,
    workload,
    purpose,
    ...(stage === undefined ? {} : { stage }),
    reason,
  }));
}

function begin(context: TrialContext, planned: Planned): Trial {
  const trial = { ...planned, beganAt: timeIn(context) };
  // First, so that no folder is made anew in place of one that was removed.
  context.store.begin(trial);
  const dir = trialDir(context.runDir, trial.id);
  onRunDisk(dir, () => makeFolder(dir));
  return trial;
}

function end(
  context: TrialContext,
  trial: Trial,
  rest: Omit<FinishedTrial, keyof Trial | 'endedAt' | 'loadCommand'>,
  server: { readonly baseUrl: URL; readonly model?: string } = { baseUrl: new URL(`http://127.0.0.1:${firstPort}`) },
): void {
  const { study } = context;
  // A quantized checkpoint is served under a name of its own.
  const command = loadCommand(server.baseUrl, server.model ?? study.model, workloadNamed(study, trial.workload));
  const mark = isSimulated(study) ? ({ simulated: true } as const) : {};
  const finished: FinishedTrial = { ...trial, ...rest, ...mark, loadCommand: command, endedAt: timeIn(context) };
  context.store.finish(finished);
  context.onFinished(finished);
}

const timeIn = ({ simulation }: TrialContext): string => simulation?.clock.time() ?? wallTime();

/** Why a configuration is not even started: its engine's own rules say that it cannot work. */
function refusal(study: StudySpec, { configuration }: Proposal): Failure | undefined {
  const problems = configurationProblems(study, configuration, [], (path) => path.join('.'));
  if (problems.length === 0) return undefined;
  const message = problems.map((p) => `${p.place}: ${p.message}`).join('; ');
  const hint = problems.flatMap((p) => (p.hint === undefined ? [] : [p.hint])).join('; ');
  return { fate: 'unsupported_setting', failure: { message, logTail: [], ...(hint === '' ? {} : { hint }) } };
}

function poolFor(context: TrialContext, workload: Workload): PromptPool {
  const pool = context.pools.get(workload.name) ?? new PromptPool(workload, defaultCacheDir(context.environment));
  context.pools.set(workload.name, pool);
  return pool;
}

/** A workload of a study by its name. */
export function workloadNamed(study: StudySpec, name: string): Workload {
  const found = study.workloads.find((w) => w.name === name);
  if (!found) throw new Error(`no workload ${name}`);
  return found;
}
