import { mean } from '../kit/numbers.ts';
import { better, objectiveValue } from '../metrics/objective.ts';
import type { RunData } from '../records/run.ts';
import { type Configuration, configurationLabel, engineLabel } from '../records/settings.ts';
import type { ObjectiveMetric } from '../records/study.ts';
import { type Candidate, candidateOf, type StageDecision } from '../search/decisions.ts';
import { compareScores, type Noise } from '../search/noise.ts';
import { type CandidateInfo, type Change, changeOf, type StageInfo } from './info.ts';

/**
 * What sets a configuration apart from `reference`: its values of the settings in which they differ, `default` where it
 * leaves one to the engine; everything where the engines differ or nothing does.
 */
export function labelAgainst(configuration: Configuration, reference: Configuration): string {
  const names = differing(configuration, reference);
  if (names === null || names.length === 0) return configurationLabel(configuration);
  return names.map((name) => `${name}=${configuration.settings[name] ?? 'default'}`).join(' ');
}

/**
 * The values that `reference` itself has of the settings in which any of `others` differs from it. Null where it sets
 * none of them, so that its name is only that nothing was changed.
 */
export function referenceLabel(reference: Configuration, others: readonly Configuration[]): string | null {
  const all = others.map((other) => differing(other, reference));
  const names = [...new Set(all.flatMap((n) => n ?? []))].sort();
  if (all.includes(null) || names.length === 0) return configurationLabel(reference);
  const own = names.filter((name) => reference.settings[name] !== undefined);
  return own.length === 0 ? null : own.map((name) => `${name}=${reference.settings[name]}`).join(' ');
}

/** Names of the settings in which two configurations differ, sorted; null where the engines do. */
function differing(a: Configuration, b: Configuration): readonly string[] | null {
  if (engineLabel(a) !== engineLabel(b)) return null;
  return [...new Set([a, b].flatMap((c) => Object.keys(c.settings)))]
    .filter((name) => a.settings[name] !== b.settings[name])
    .sort();
}

/** A candidate's figures over those of its trials that count. */
export function candidateInfo({ study }: RunData, candidate: Candidate, label: string | null): CandidateInfo {
  const counting = candidate.trials.filter(
    (t) => candidateOf(study, candidate.configuration, t.workload, [t]).value !== null,
  );
  const geometricMean = (metric: ObjectiveMetric): number | null => {
    const values = counting
      .flatMap(({ summary }) => (summary ? (objectiveValue(summary, metric) ?? []) : []))
      .filter((value) => value > 0);
    return values.length > 0 ? Math.exp(mean(values.map(Math.log)) as number) : null;
  };
  return {
    label,
    configuration: candidate.configuration,
    trialIds: candidate.trials.map((t) => t.id),
    runs: candidate.scores.length,
    value: candidate.value,
    totalTokenThroughput: geometricMean('total_token_throughput'),
    meanTpotMs: geometricMean('mean_tpot_ms'),
    disqualified: candidate.disqualified ?? null,
  };
}

/**
 * A stage with the figures that it was decided by: those of its own trials and of the stages before it.
 *
 * @param runNoise the noise that all of the run's repeats show, to tell where later repeats cast doubt on the decision
 */
export function stageInfo(run: RunData, stage: StageDecision, runNoise: Noise): StageInfo {
  const direction = better(run.study.objective.metric);
  const { incumbent, challengers } = stage;
  const label = (candidate: Candidate): string | null =>
    candidate === incumbent
      ? referenceLabel(
          incumbent.configuration,
          challengers.map((c) => c.configuration),
        )
      : labelAgainst(candidate.configuration, incumbent.configuration);
  const against = (candidate: Candidate, reference: Candidate, noise = stage.noise): Change | null =>
    candidate.scores.length > 0 && reference.scores.length > 0
      ? changeOf(compareScores(candidate.scores, reference.scores, noise), direction)
      : null;
  const compared =
    stage.comparison === null
      ? undefined
      : stage.verdict === 'better'
        ? stage.winner
        : stage.ranking.find((c) => c !== incumbent);
  const decided = compared ? against(compared, incumbent) : null;
  const atRunNoise = compared ? against(compared, incumbent, runNoise) : null;
  return {
    name: stage.name,
    verdict: stage.verdict,
    noiseSd: stage.noise.sd,
    incumbent: candidateInfo(run, incumbent, label(incumbent)),
    challengers: challengers.map((c) => ({
      ...candidateInfo(run, c, label(c)),
      change: against(c, incumbent),
    })),
    ranking: stage.ranking.map((candidate, i) => {
      const next = stage.ranking[i + 1];
      return {
        label: label(candidate),
        value: candidate.value as number,
        tied: next !== undefined && against(candidate, next)?.verdict === 'no_significant_difference',
      };
    }),
    winner: label(stage.winner),
    comparison:
      compared && decided && atRunNoise
        ? { label: labelAgainst(compared.configuration, incumbent.configuration), decided, atRunNoise }
        : null,
  };
}
