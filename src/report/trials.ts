import { objectiveValue } from '../metrics/objective.ts';
import { resultBlock } from '../metrics/result-block.ts';
import type { RunData } from '../records/run.ts';
import { configurationLabel } from '../records/settings.ts';
import type { Summary } from '../records/summary.ts';
import type { FinishedTrial } from '../records/trial.ts';
import { candidateOf } from '../search/decisions.ts';
import { isAttached, type TrialInfo } from './info.ts';

/** Latencies of the result block, in its order, where they were measured. */
const blockMetrics = ['ttft', 'tpot', 'itl', 'e2el'];

/** A trial with the figures that the report shows of it. */
export function trialInfo(run: RunData, trial: FinishedTrial): TrialInfo {
  const { summary, failure } = trial;
  const alone = candidateOf(run.study, trial.configuration, trial.workload, [trial]);
  return {
    id: trial.id,
    purpose: trial.purpose,
    stage: trial.stage ?? null,
    workload: trial.workload,
    reason: trial.reason,
    engineStart: trial.engineStart,
    attached: isAttached(trial.configuration),
    configuration: trial.configuration,
    label: configurationLabel(trial.configuration),
    fate: trial.fate,
    counts: alone.value !== null,
    excluded: trial.fate === 'measured' ? (alone.disqualified ?? null) : null,
    value: summary ? objectiveValue(summary, run.study.objective.metric) : null,
    totalTokenThroughput: summary?.totalTokenThroughput ?? null,
    meanTtftMs: summary ? objectiveValue(summary, 'mean_ttft_ms') : null,
    meanTpotMs: summary ? objectiveValue(summary, 'mean_tpot_ms') : null,
    requests: summary
      ? { asked: summary.asked, ok: summary.ok, failed: summary.failed, notSent: summary.notSent }
      : null,
    outputShare: summary && summary.outputTokensAsked > 0 ? summary.outputTokens / summary.outputTokensAsked : null,
    errors: summary?.errors ?? [],
    warnings: summary?.warnings ?? [],
    client: trial.client ?? null,
    failure: failure
      ? {
          message: failure.message,
          hint: failure.hint ?? null,
          logTail: failure.logTail,
          fragment: failure.fragment ?? [],
          changed: failure.changed ?? [],
        }
      : null,
    gpu: trial.gpu ?? null,
    ceiling: trial.ceiling ?? null,
    counters: trial.counters ?? null,
    stress: trial.stress ?? null,
    servingCommand: trial.servingCommand,
    loadCommand: trial.loadCommand,
    effectiveSettings: trial.effectiveSettings ?? null,
    times: trial.times,
    beganAt: trial.beganAt,
    block: summary ? blockOf(run, trial, summary) : null,
    simulated: run.simulated,
  };
}

function blockOf({ study, simulated }: RunData, trial: FinishedTrial, summary: Summary): string {
  const workload = study.workloads.find((w) => w.name === trial.workload);
  const rate = workload?.request_rate;
  const percentileMetrics = blockMetrics.filter((name) => name in summary.latencies);
  const percentiles = new Set(
    percentileMetrics.flatMap((name) => Object.keys(summary.latencies[name]?.percentiles ?? {}).map(Number)),
  );
  return resultBlock(summary, {
    ...(workload?.max_concurrency === undefined ? {} : { maxConcurrency: workload.max_concurrency }),
    ...(typeof rate === 'number' ? { requestRate: rate } : {}),
    percentileMetrics,
    percentiles: [...percentiles].sort((a, b) => a - b),
    simulated,
  });
}
