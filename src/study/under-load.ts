import type { Engine, Environment } from '../engines/engine.ts';
import { sleep } from '../kit/clock.ts';
import { messageOf, ServetuneError } from '../kit/errors.ts';
import type { Exit, Supervised } from '../processes/supervisor.ts';
import type { Gpu } from '../records/gpu.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial } from '../records/trial.ts';
import type { Workload } from '../records/workload.ts';
import { chooseTokenizer } from '../tokenizers/choose.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { describeExit, watchdogLost } from './becomes-ready.ts';
import { classify, type Failure, keptLogLines } from './failure.ts';
import { type Observation, type Observed, observe } from './observed.ts';
import type { Judged } from './physics.ts';
import { type PromptPool, warmupsOf } from './prompts.ts';
import { leftOut } from './ready.ts';
import type { RunningEngine } from './running-engine.ts';
import { type LoadPhase, type PhaseProgress, runWorkload, studyPercentiles, type WorkloadRun } from './workload.ts';

export type LoadOutcome = Pick<
  FinishedTrial,
  'fate' | 'failure' | 'summary' | 'client' | 'times' | 'gpu' | 'counters' | 'ceiling'
> & {
  /** The engine is not to be trusted any more: no further workload. */
  readonly engineLost: boolean;
};

/** Sends one workload to an engine that is ready, and judges what came of it. Throws only when interrupted, or when the disk refuses. */
export async function underLoad(
  runningEngine: RunningEngine,
  workload: Workload,
  context: {
    readonly limits: StudySpec['limits'];
    readonly pool: PromptPool;
    readonly environment: Environment;
    /** Those that the engine may use. */
    readonly gpus: readonly Gpu[];
    /** What physics says of a measurement; null where it cannot tell. */
    judged(run: Pick<WorkloadRun, 'records' | 'summary'>): Judged | null;
    readonly recordsPath: string;
    readonly signal: AbortSignal;
    onPhase(phase: LoadPhase, progress?: PhaseProgress): void;
  },
): Promise<LoadOutcome> {
  const { engine, engineProcess, baseUrl, model, refusedFields } = runningEngine;
  const { limits, signal, environment, gpus } = context;
  const target = { baseUrl, model };
  const { died, exited } = endOf(engineProcess);
  const both = AbortSignal.any([signal, died]);
  let run: WorkloadRun;
  let observation: Observation | undefined;
  let observed: Observed = {};
  let tokenizer: Tokenizer | undefined;
  let keptCache: { readonly error: unknown } | undefined;
  try {
    ({ tokenizer } = await chooseTokenizer({ ...target, env: context.environment, signal: both }));
    run = await runWorkload(target, {
      workload,
      pool: context.pool,
      tokenizer,
      warmups: warmupsOf(workload),
      percentiles: studyPercentiles,
      stallTimeoutS: limits.stall_timeout_s,
      loadTimeoutS: limits.load_timeout_s,
      recordsPath: context.recordsPath,
      signal: both,
      onPhase: context.onPhase,
      ...(refusedFields.length > 0 ? { more: { extraBody: leftOut(refusedFields) } } : {}),
      async beforeMeasuring() {
        await engine.resetCache?.(baseUrl, both).catch((error: unknown) => {
          keptCache = { error };
          throw error;
        });
        observation = await observe(runningEngine, gpus, environment, both);
      },
    });
    const { startS, durationS } = run.load;
    const window = { fromS: startS, toS: startS + durationS };
    observed = (await observation?.finish(window, run.summary.outputTokens)) ?? {};
  } catch (error) {
    // When an engine dies its sockets close before its end is reported.
    if (keptCache) await Promise.race([exited, sleep(1, signal)]);
    signal.throwIfAborted();
    if (keptCache && !died.aborted) return cacheKept(keptCache.error, engine, engineProcess.logTail(400));
    if (!died.aborted) throw error;
    const message = deathMessage(await exited, 'load');
    return {
      ...classify(engine, { fate: 'crashed_under_load', message }, engineProcess.logTail(400)),
      times: {},
      engineLost: true,
    };
  } finally {
    await observation?.[Symbol.asyncDispose]();
    await tokenizer?.close?.();
  }
  signal.throwIfAborted();
  // When an engine dies its sockets close before its end is reported: wait for the news before judging the failures.
  if (run.summary.failed > 0) await Promise.race([exited, sleep(1, signal)]);
  const { summary, client, warmupS, loadS } = run;
  const judged = context.judged(run);
  const ceiling = judged?.ceiling ? { ceiling: judged.ceiling } : {};
  const measured = { summary, client, times: { warmupS, loadS }, ...observed, ...ceiling };
  const failed = (failure: Failure, engineLost = true): LoadOutcome => ({ ...failure, ...measured, engineLost });
  const log = engineProcess.logTail(400);
  if (died.aborted) {
    const message = deathMessage(await exited, 'load');
    return failed(classify(engine, { fate: 'crashed_under_load', message }, log));
  }
  if (run.load.ended === 'hung') {
    const message = `no byte from any stream for ${limits.stall_timeout_s} s`;
    return failed(classify(engine, { fate: 'hung', message, hint: 'see the engine log' }, log));
  }
  if (run.load.ended === 'timed_out') {
    const message = `the load was not over after ${limits.load_timeout_s} s`;
    return failed(
      classify(engine, { fate: 'timed_out', message, hint: 'raise limits.load_timeout_s, or send less' }, log),
    );
  }
  const slowed = observed.gpu?.suspect ?? [];
  if (slowed.length > 0) {
    const message = `the GPU protected itself and ran slower: ${slowed.join(', ')}`;
    const hint = 'see to its cooling and power, and measure again';
    return failed({ fate: 'invalid_measurement', failure: { message, logTail: [], hint } }, false);
  }
  const problems = [...run.problems, ...(judged?.problems ?? [])];
  if (problems.length > 0) {
    // The engine is rarely at fault, and its log tells nothing of the client.
    const failure = { message: problems.join('; '), logTail: [] };
    return failed({ fate: 'invalid_measurement', failure }, false);
  }
  return { fate: 'measured', ...measured, engineLost: false };
}

/**
 * The engine would not forget its cached prefixes, so that what a load finds in the cache is not what the loads of other
 * trials find. Random warm-up prompts share none with those that are measured, but lines of a sonnet, rows of a file
 * without a tokenizer and the warm-ups of vLLM's own client do, and so do the workloads of one start among each other. A
 * figure that may be too good is no figure; so nothing is measured, and the study goes on.
 */
function cacheKept(error: unknown, engine: Engine, log: readonly string[]): LoadOutcome {
  const hangs = error instanceof ServetuneError && error.code === 'no_answer';
  const hint = (error instanceof ServetuneError && error.hint) || 'see the engine log';
  const message = `the prefix cache cannot be reset: ${messageOf(error)}`;
  if (hangs) return { ...classify(engine, { fate: 'hung', message, hint }, log), times: {}, engineLost: true };
  const failure = { message, hint, logTail: log.slice(-keptLogLines) };
  return { fate: 'invalid_measurement', failure, times: {}, engineLost: false };
}

/** The end of an engine as a signal, for what must not outlast it, and how it went. */
export function endOf({ exited }: Pick<Supervised, 'exited'>): {
  readonly died: AbortSignal;
  readonly exited: Promise<Exit>;
} {
  const died = new AbortController();
  const told = exited.then((exit) => {
    died.abort();
    return exit;
  });
  return { died: died.signal, exited: told };
}

/** That an engine ended, and under what. Throws when it was no fault of its own. */
export function deathMessage(exit: Exit, under: string): string {
  if (exit.watchdogLost) throw watchdogLost();
  return `the engine ended under ${under} (${describeExit(exit)})`;
}
