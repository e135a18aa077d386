import type { Environment } from '../engines/engine.ts';
import { sleep } from '../kit/clock.ts';
import type { Exit } from '../processes/supervisor.ts';
import type { Gpu } from '../records/gpu.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial } from '../records/trial.ts';
import type { Workload } from '../records/workload.ts';
import { chooseTokenizer } from '../tokenizers/choose.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { classify, type Failure } from './failure.ts';
import { type Observation, type Observed, observe } from './observed.ts';
import { type PromptPool, warmupsOf } from './prompts.ts';
import { leftOut } from './ready.ts';
import { describeExit, type RunningEngine, watchdogLost } from './running-engine.ts';
import { type LoadPhase, type PhaseProgress, runWorkload, studyPercentiles, type WorkloadRun } from './workload.ts';

export type LoadOutcome = Pick<
  FinishedTrial,
  'fate' | 'failure' | 'summary' | 'client' | 'times' | 'gpu' | 'counters'
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
    readonly recordsPath: string;
    readonly signal: AbortSignal;
    onPhase(phase: LoadPhase, progress?: PhaseProgress): void;
  },
): Promise<LoadOutcome> {
  const { engine, engineProcess, baseUrl, model, refusedFields } = runningEngine;
  const { limits, signal, environment, gpus } = context;
  const target = { baseUrl, model };
  const died = new AbortController();
  const exited = engineProcess.exited.then((exit) => {
    died.abort();
    return exit;
  });
  const both = AbortSignal.any([signal, died.signal]);
  let run: WorkloadRun;
  let observation: Observation | undefined;
  let observed: Observed = {};
  let tokenizer: Tokenizer | undefined;
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
        await engine.resetCache?.(baseUrl, both);
        observation = await observe(runningEngine, gpus, environment, both);
      },
    });
    const { startS, durationS } = run.load;
    const window = { fromS: startS, toS: startS + durationS };
    observed = (await observation?.finish(window, run.summary.outputTokens)) ?? {};
  } catch (error) {
    signal.throwIfAborted();
    if (!died.signal.aborted) throw error;
    const message = deathMessage(await exited);
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
  const measured = { summary, client, times: { warmupS, loadS }, ...observed };
  const failed = (failure: Failure, engineLost = true): LoadOutcome => ({ ...failure, ...measured, engineLost });
  const log = engineProcess.logTail(400);
  if (died.signal.aborted) {
    const message = deathMessage(await exited);
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
  if (run.problems.length > 0) {
    // The engine is rarely at fault, and its log tells nothing of the client.
    const failure = { message: run.problems.join('; '), logTail: [] };
    return failed({ fate: 'invalid_measurement', failure }, false);
  }
  return { fate: 'measured', ...measured, engineLost: false };
}

function deathMessage(exit: Exit): string {
  if (exit.watchdogLost) throw watchdogLost();
  return `the engine ended under load (${describeExit(exit)})`;
}
