import { better, metricUnit } from '../metrics/objective.ts';
import type { RunData } from '../records/run.ts';
import { type Configuration, configurationKey, configurationLabel, engineLabel } from '../records/settings.ts';
import type { FinishedTrial } from '../records/trial.ts';
import { type Candidate, candidateOf, type Decisions, decide, objectiveWorkload } from '../search/decisions.ts';
import { compareScores } from '../search/noise.ts';
import { candidateInfo, labelAgainst, referenceLabel, stageInfo } from './candidates.ts';
import { type Change, changeOf, isAttached, type ReportInfo, type WorkloadResult } from './info.ts';
import { qualityOf } from './quality.ts';
import { scopeOf } from './scope.ts';
import { trialInfo } from './trials.ts';

/**
 * Everything that a report says, computed from the run's trials: a pure function. Texts are as they stand in the run;
 * `textRedactor` of `redact.ts` makes them fit to hand on.
 */
export function reportInfo(run: RunData): ReportInfo {
  const { study, space, trials } = run;
  const finished = run.endedAt !== undefined;
  // A finished run asks for nothing more: a stage that is still open was cut short by the budget.
  const decisions = decide(study, space, trials, finished);
  const { metric } = study.objective;
  const results = workloadResults(run, decisions);
  const deciding = results.find((r) => r.decides);
  return {
    format: 'servetune-report-1',
    simulated: run.simulated,
    ...(run.uncalibrated ? { uncalibrated: run.uncalibrated } : {}),
    finished,
    name: study.name,
    model: study.model,
    modelName: modelNameOf(study.model),
    hardware: hardwareOf(run),
    objective: {
      metric,
      unit: metricUnit(metric),
      better: better(metric),
      workload: objectiveWorkload(study),
      constraints: study.constraints,
    },
    conclusion: {
      verdict: verdictOf(decisions, deciding?.change ?? null),
      change: deciding?.change ?? null,
      servingCommand: commandOf(trials, decisions.winner),
      baselineCommand: commandOf(trials, decisions.baseline),
    },
    baseline: identified(decisions.baseline),
    winner: identified(decisions.winner),
    results,
    stages: decisions.stages.map((stage) => stageInfo(run, stage, decisions.noise)),
    quality: qualityOf(run, decisions),
    scope: scopeOf(run, decisions),
    machine: run.machine,
    weights: run.weights ?? [],
    engines: [...new Set([space.baseline, ...trials.map((t) => t.configuration)].map(engineLabel))],
    servetuneVersion: run.servetuneVersion,
    workloads: study.workloads.map((options) => ({
      options,
      loadCommand: trials.find((t) => t.workload === options.name && t.loadCommand.length > 0)?.loadCommand ?? null,
      inputTokensMeasured: inputTokensOf(trials, options.name),
    })),
    time: timeOf(run),
    trials: trials.map((trial) => trialInfo(run, trial)),
    study,
  };
}

const identified = ({ configuration }: Candidate): ReportInfo['winner'] => ({
  label: configurationLabel(configuration),
  configuration,
});

const same = (a: Configuration, b: Configuration): boolean => configurationKey(a) === configurationKey(b);

function verdictOf({ baseline, winner }: Decisions, change: Change | null): ReportInfo['conclusion']['verdict'] {
  if (winner.value === null) return 'unmeasured';
  if (same(winner.configuration, baseline.configuration)) return 'keep_baseline';
  if (baseline.value === null || !change) return 'no_baseline';
  return change.verdict;
}

function workloadResults(run: RunData, decisions: Decisions): WorkloadResult[] {
  const { study, trials } = run;
  const objective = objectiveWorkload(study);
  const [base, best] = [decisions.baseline.configuration, decisions.winner.configuration];
  return study.workloads.map(({ name }) => {
    const [baseline, optimized] = [base, best].map((c) => candidateOf(study, c, name, trials)) as [
      Candidate,
      Candidate,
    ];
    const comparable = !same(base, best) && baseline.scores.length > 0 && optimized.scores.length > 0;
    return {
      workload: name,
      decides: name === objective,
      baseline: candidateInfo(run, baseline, referenceLabel(base, [best])),
      optimized: candidateInfo(run, optimized, labelAgainst(best, base)),
      change: comparable
        ? changeOf(compareScores(optimized.scores, baseline.scores, decisions.noise), better(study.objective.metric))
        : null,
    };
  });
}

/** The confirmation ran exactly what is recommended; without one, any measured trial's command is that of its configuration. */
function commandOf(trials: readonly FinishedTrial[], candidate: Candidate): readonly string[] {
  const own = trials.filter((t) => same(t.configuration, candidate.configuration) && t.servingCommand.length > 0);
  const chosen =
    own.find((t) => t.purpose === 'confirmation' && t.fate === 'measured') ??
    own.find((t) => t.fate === 'measured') ??
    own[0];
  return chosen?.servingCommand ?? [];
}

/** The last part of a path; a name in a registry, which is `owner/name` at most, as it is. */
function modelNameOf(model: string): string {
  const parts = model.split(/[\\/]/).filter((part) => part !== '');
  const isPath = /^(?:[./~\\]|[A-Za-z]:[\\/])|\.gguf$/i.test(model) || parts.length > 2;
  return (isPath ? parts.at(-1) : undefined) ?? model;
}

/** What the first valid measurement of a workload sent a request. */
function inputTokensOf(trials: readonly FinishedTrial[], workload: string): number | null {
  const summary = trials.find((t) => t.workload === workload && t.fate === 'measured' && t.summary)?.summary;
  return summary && summary.ok > 0 ? summary.inputTokens / summary.ok : null;
}

/** `2 × NVIDIA H200`, or the CPU where there is no GPU. */
function hardwareOf({ machine }: RunData): string {
  const names = machine.gpus.map((line) => (line.split(',')[0] as string).trim());
  if (names.length === 0) return machine.cpu;
  return [...new Set(names)]
    .map((name) => {
      const count = names.filter((n) => n === name).length;
      return count === 1 ? name : `${count} × ${name}`;
    })
    .join(' + ');
}

function timeOf({ trials, beganAt, endedAt }: RunData): ReportInfo['time'] {
  const end =
    endedAt ??
    trials
      .map((t) => t.endedAt)
      .sort()
      .at(-1) ??
    beganAt;
  const sum = (part: 'startS' | 'warmupS' | 'loadS', of = trials): number =>
    of.reduce((total, { times }) => total + (times[part] ?? 0), 0);
  const found = trials.filter((t) => isAttached(t.configuration));
  const started = trials.filter((t) => !isAttached(t.configuration));
  return {
    beganAt,
    endedAt: endedAt ?? null,
    totalS: Math.max(0, (Date.parse(end) - Date.parse(beganAt)) / 1000),
    engineStarts: new Set(started.map((t) => t.engineStart)).size,
    startS: sum('startS', started),
    waitS: sum('startS', found),
    warmupS: sum('warmupS'),
    loadS: sum('loadS'),
  };
}
