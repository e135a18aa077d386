import { rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Environment } from '../engines/engine.ts';
import { now, wallTime } from '../kit/clock.ts';
import { InputError, systemCode } from '../kit/errors.ts';
import { makeFolder } from '../kit/files.ts';
import { checkOpenFiles } from '../load/preflight.ts';
import { acquireLock, type Lock } from '../processes/lock.ts';
import { leftoverIn, reap } from '../processes/reap.ts';
import type { SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial, Proposal } from '../records/trial.ts';
import { decide } from '../search/decisions.ts';
import { nextProposals, reservedTrials, withoutUnfit } from '../search/plan.ts';
import { strategies } from '../search/table.ts';
import { folderReplaced } from '../store/guarded.ts';
import { createStore, isRun, openStore, type RunStart, type Store } from '../store/store.ts';
import { describeMachine } from '../telemetry/machine.ts';
import type { Checkpoint } from '../weights/checkpoint.ts';
import { expectListening } from './attached.ts';
import { begunSpace } from './begun.ts';
import { lockGpus } from './gpu-lock.ts';
import type { LoadedStudy } from './load-study.ts';
import { declaredEngine, endLeftIn, engineNamed } from './places.ts';
import { secretsOf } from './secrets.ts';
import { checkServedModels } from './served-model.ts';
import { isUncalibrated, prepareSimulation, type Simulation } from './simulated/simulation.ts';
import { isSimulated, otherKind } from './simulated/study.ts';
import { spanned } from './span.ts';
import { measureProposal, type TrialContext, trialDir } from './trial.ts';
import { checkpointsOf, fetchWeights } from './weights.ts';

/** What a study is run with, besides what `loadStudy` gave. */
export interface TuneOptions extends LoadedStudy {
  /** Folder of the run. */
  readonly runDir: string;
  /** Go on with an unfinished run instead of refusing its folder. */
  readonly resume: boolean;
  /** Of a simulated study: its loads are really sent, to a simulated server for each start. */
  readonly live?: boolean;
  readonly servetuneVersion: string;
  readonly environment: Environment;
  readonly signal: AbortSignal;
}

/** How far a study is, for whoever shows it. */
export interface TuneProgress {
  readonly finishedTrials: number;
  /** Trials in all, as far as can be told now: some close calls are counted in. After the last one exactly those that there are. */
  readonly expectedTrials: number;
  /** Seconds that they will take, from the mean of those that are over; null before the first and after the last. */
  readonly remainingS: number | null;
}

/** What happens, as it happens. */
export interface TuneEvents {
  onBegin(run: {
    readonly study: StudySpec;
    /** Finished trials that are kept. */
    readonly resumed: number;
    /** Trials that a killed process had begun; they are measured again. */
    readonly forgotten: number;
    readonly nothingToResume: boolean;
  }): void;
  onPrepare(what: string): void;
  onProposal(proposal: Proposal, progress: TuneProgress): void;
  onPhase: TrialContext['onPhase'];
  onFinished(trial: FinishedTrial, progress: TuneProgress): void;
}

/** What a study comes down to. */
export interface TuneResult {
  readonly runDir: string;
  /** A configuration qualified: there is something to recommend. */
  readonly qualified: boolean;
}

/**
 * Runs a study to its end, or goes on with one: asks the plan, measures, stores, asks again. A pure function of the store
 * decides what comes next, so an interrupted study needs nothing but its folder.
 *
 * @throws InputError for anything wrong with the study, its folder or the machine's limits, before anything is started
 * @throws Interrupted (the signal's reason) after the running engine is gone
 */
export async function tune(options: TuneOptions, events: TuneEvents): Promise<TuneResult> {
  const { file, gpus, runDir, environment, signal } = options;
  const resuming = isRun(runDir);
  if (resuming && !options.resume) {
    // Says so when another process is at work on it; only then is resuming no remedy.
    acquireLock(runDir).release();
    throw occupied(runDir);
  }
  const simulated = isSimulated(file.study) ? await prepareSimulation(file, environment, signal) : undefined;
  // Without it everything that follows takes real time.
  const simulation = options.live ? undefined : simulated;
  const kind = simulated === undefined ? 'measured' : simulation ? 'virtual' : 'live';
  if (!simulation) checkOpenFiles(Math.max(...file.study.workloads.map((w) => w.max_concurrency ?? w.num_prompts)));
  const checkpoints = simulated ? [] : await lookAround(options);
  makeRunFolder(runDir);
  using lock = acquireLock(runDir);
  using _gpus = gpus.length > 0 ? lockGpus() : undefined;
  const secrets = secretsOf(file.study, environment);
  const begins = (): RunStart =>
    secrets.concealStart({
      study: file.study,
      studyText: file.text,
      space: options.space,
      machine: simulated?.machine ?? describeMachine(gpus),
      ...(checkpoints.length === 0
        ? {}
        : { weights: checkpoints.map(({ name, commit, bytes }) => ({ name, commit, bytes })) }),
      servetuneVersion: options.servetuneVersion,
      simulated: simulated !== undefined,
      ...(simulated && isUncalibrated(simulated.parameters) ? { uncalibrated: true } : {}),
      beganAt: simulation?.clock.time() ?? wallTime(),
    });
  using store = secrets.concealing(resuming ? openStore(runDir) : createStore(runDir, begins()));
  const other = otherKind(store.start(), kind, runDir);
  if (other) throw new InputError([other]);
  const space = resuming ? begunSpace(store.start(), file, options.space) : options.space;
  store.setEnded(null);
  await endLeftovers(runDir, store, environment);
  const forgotten = store.forgetRunning();
  for (const trial of forgotten) {
    rmSync(trialDir(runDir, trial.id), { recursive: true, force: true });
  }
  events.onBegin({
    study: file.study,
    resumed: store.finished().length,
    forgotten: forgotten.length,
    nothingToResume: options.resume && !resuming,
  });
  simulation?.clock.goOn(store.finished());
  if (!simulated) {
    await fetchWeights(checkpoints, environment, signal, events.onPrepare);
    await prepareEngines(file.study, space, environment, signal, events);
  }
  return await runPlan({ ...options, space, ...(simulation ? { simulation } : {}) }, store, lock, {
    ...events,
    onFinished: (trial, progress) => events.onFinished(secrets.conceal(trial), progress),
  });
}

/** What a study needs that is not started here or not here yet. Throws an InputError with what is not to be had. */
async function lookAround({ file, space, environment, signal }: TuneOptions): Promise<readonly Checkpoint[]> {
  for (const { url } of file.study.engines.map(declaredEngine)) {
    if (url !== undefined) await expectListening(new URL(url), signal);
  }
  await checkServedModels(file.study, signal);
  return await checkpointsOf(file.study, space, environment, signal);
}

/** Ends engines of trials that never ended, should they still live: owner and watchdog were killed together. */
export async function endLeftovers(
  runDir: string,
  store: Pick<Store, 'running'>,
  environment: Environment,
): Promise<void> {
  for (const { id } of store.running()) {
    const dir = trialDir(runDir, id);
    const left = leftoverIn(dir);
    if (left) await reap([left]);
    await endLeftIn(dir, environment);
  }
}

async function runPlan(
  options: TuneOptions & { readonly simulation?: Simulation },
  store: Store,
  lock: Lock,
  events: TuneEvents,
): Promise<TuneResult> {
  const { space, gpus, shape, simulation } = options;
  const { study } = options.file;
  const strategy = strategies.find((s) => s.name === study.strategy);
  if (!strategy) throw new Error(`no strategy ${study.strategy}`); // the schema's names are the table's
  const session = { began: now(), trials: 0 };
  const nextProposal = (finished: readonly FinishedTrial[]): Proposal | undefined => {
    const left = study.budget.max_trials - finished.length;
    if (left <= 0) return undefined;
    const budgetSpent = isBudgetSpent(study, finished);
    const [proposal] = nextProposals(strategy, { study, space, budgetSpent }, finished, [], 1);
    return proposal && { ...proposal, measure: proposal.measure.slice(0, left) };
  };
  const progress = (): TuneProgress => {
    const finished = store.finished();
    const isLast = nextProposal(finished) === undefined;
    return isLast
      ? { finishedTrials: finished.length, expectedTrials: finished.length, remainingS: null }
      : estimate(study, space, finished, session);
  };
  const context: TrialContext = {
    study,
    runDir: options.runDir,
    store,
    environment: options.environment,
    signal: options.signal,
    gpus,
    shape,
    pools: new Map(),
    ...(simulation ? { simulation } : {}),
    onPhase: events.onPhase,
    onFinished(trial) {
      session.trials++;
      events.onFinished(trial, progress());
    },
  };
  for (;;) {
    options.signal.throwIfAborted();
    // Without it another servetune could be at work in the same folder by now. The database sees to itself.
    if (!lock.isHeld()) throw folderReplaced(options.runDir, basename(lock.path));
    const proposal = nextProposal(store.finished());
    if (!proposal) break;
    events.onProposal(proposal, progress());
    await measureProposal(context, proposal);
  }
  store.setEnded(simulation?.clock.time() ?? wallTime());
  const { winner } = decide(study, space, store.finished(), true);
  return { runDir: options.runDir, qualified: winner.value !== null };
}

/** Whether only the end of the study (further workloads, drift, confirmation) may still be measured. A pure function of the trials. */
export function isBudgetSpent(study: StudySpec, finished: readonly FinishedTrial[]): boolean {
  const { max_trials, max_duration_s } = study.budget;
  // Counts the search only, so that the answer does not change while the reserve is being used.
  const searched = finished.filter((t) => t.purpose === 'baseline' || t.stage !== undefined);
  if (searched.length + reservedTrials(study, finished) >= max_trials) return true;
  const spentS = searched.reduce((sum, t) => sum + (Date.parse(t.endedAt) - Date.parse(t.beganAt)) / 1000, 0);
  return max_duration_s !== undefined && spentS >= max_duration_s;
}

function estimate(
  study: StudySpec,
  space: SearchSpace,
  finished: readonly FinishedTrial[],
  session: { readonly began: number; readonly trials: number },
): TuneProgress {
  const lasting = withoutUnfit(finished);
  const done = (purpose: FinishedTrial['purpose']): number => lasting.filter((t) => t.purpose === purpose).length;
  const left = (planned: number, purpose: FinishedTrial['purpose']): number => Math.max(0, planned - done(purpose));
  const { complete, stages } = decide(study, space, finished, isBudgetSpent(study, finished));
  const ahead = space.stages.slice(complete ? space.stages.length : Math.max(0, stages.length - 1));
  const alternatives = space.stages.reduce((sum, s) => sum + s.alternatives.length, 0);
  // Close calls cannot be foreseen; so far about one repeat an alternative has been usual.
  const repeats = study.repeats.close_calls === 0 ? 0 : ahead.reduce((sum, s) => sum + s.alternatives.length, 0);
  const repeated = finished.filter((t) => t.purpose === 'repeat' && t.stage === ahead[0]?.name).length;
  const remaining =
    left(1, 'baseline') +
    (complete ? 0 : left(alternatives, 'stage') + Math.max(0, repeats - repeated)) +
    left(2 * (study.workloads.length - 1), 'further') +
    left(1, 'baseline_again') +
    left(1, 'confirmation');
  return {
    finishedTrials: finished.length,
    expectedTrials: Math.min(finished.length + remaining, study.budget.max_trials),
    remainingS: session.trials === 0 ? null : (remaining * (now() - session.began)) / session.trials,
  };
}

/** Files that engines need before they can be started, written or fetched once, outside every trial's time. */
async function prepareEngines(
  study: StudySpec,
  space: SearchSpace,
  environment: Environment,
  signal: AbortSignal,
  events: Pick<TuneEvents, 'onPrepare'>,
): Promise<void> {
  const configurations = spanned(space).map((s) => s.configuration);
  for (const name of new Set(configurations.map((c) => c.engine))) {
    const engine = engineNamed(name);
    if (!engine.prepare) continue;
    events.onPrepare(`preparing ${study.model} for ${name}`);
    const own = configurations.filter((c) => c.engine === name);
    await engine.prepare(
      own.map((c) => ({ model: study.model, settings: c.settings })),
      environment,
      signal,
    );
  }
}

function makeRunFolder(runDir: string): void {
  try {
    makeFolder(join(runDir, 'trials'));
  } catch (error) {
    const full = systemCode(error) === 'ENOSPC';
    throw new InputError([
      {
        place: runDir,
        message: full ? 'the disk is full' : `cannot be created (${systemCode(error)})`,
        hint: full ? 'free some space, then go on with --resume' : 'choose another folder with --run',
      },
    ]);
  }
}

const occupied = (runDir: string): InputError =>
  new InputError([
    {
      place: runDir,
      message: 'holds a run already',
      hint: 'go on with --resume, start over with --fresh, or choose another folder with --run',
    },
  ]);
