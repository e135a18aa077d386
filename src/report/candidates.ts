import { mean } from '../kit/numbers.ts';
import { better, objectiveValue } from '../metrics/objective.ts';
import type { RunData } from '../records/run.ts';
import { type Configuration, engineLabel } from '../records/settings.ts';
import type { ObjectiveMetric } from '../records/study.ts';
import { type Candidate, candidateOf, type StageDecision } from '../search/decisions.ts';
import { compareScores } from '../search/noise.ts';
import { type CandidateInfo, type Change, changeOf, type StageInfo } from './info.ts';

/**
 * What sets a configuration apart from `others`: the settings in which any of them differs, with `default` where it
 * leaves one to the engine; everything where the engines differ.
 */
export function labelWithin(configuration: Configuration, others: readonly Configuration[]): string {
  const engine = engineLabel(configuration);
  const settings = Object.entries(configuration.settings).map(([name, value]) => `${name}=${value}`);
  if (others.some((other) => engineLabel(other) !== engine)) return [engine, ...settings].join(' ');
  const everyone = [configuration, ...others];
  const names = [...new Set(everyone.flatMap((c) => Object.keys(c.settings)))]
    .filter((name) => new Set(everyone.map((c) => c.settings[name])).size > 1)
    .sort();
  if (names.length === 0) return [engine, ...settings].join(' ');
  return names.map((name) => `${name}=${configuration.settings[name] ?? 'default'}`).join(' ');
}

/** A candidate's figures over those of its trials that count. */
export function candidateInfo({ study }: RunData, candidate: Candidate, label: string): CandidateInfo {
  const counting = candidate.trials.filter(
    (t) => candidateOf(study, candidate.configuration, t.workload, [t]).value !== null,
  );
  const values = (metric: ObjectiveMetric): number[] =>
    counting.flatMap(({ summary }) => (summary ? (objectiveValue(summary, metric) ?? []) : []));
  const throughputs = values('total_token_throughput').filter((v) => v > 0);
  return {
    label,
    configuration: candidate.configuration,
    trialIds: candidate.trials.map((t) => t.id),
    runs: candidate.scores.length,
    value: candidate.value,
    totalTokenThroughput: throughputs.length > 0 ? Math.exp(mean(throughputs.map(Math.log)) as number) : null,
    meanTpotMs: mean(values('mean_tpot_ms')),
    disqualified: candidate.disqualified ?? null,
  };
}

/** A stage with the figures that it was decided by: those of its own trials and of the stages before it. */
export function stageInfo(run: RunData, stage: StageDecision): StageInfo {
  const direction = better(run.study.objective.metric);
  const everyone = [stage.incumbent, ...stage.challengers];
  const label = (candidate: Candidate): string =>
    labelWithin(
      candidate.configuration,
      everyone.filter((c) => c !== candidate).map((c) => c.configuration),
    );
  const against = (candidate: Candidate, reference: Candidate): Change | null =>
    candidate.scores.length > 0 && reference.scores.length > 0
      ? changeOf(compareScores(candidate.scores, reference.scores, stage.noise), direction)
      : null;
  return {
    name: stage.name,
    verdict: stage.verdict,
    incumbent: candidateInfo(run, stage.incumbent, label(stage.incumbent)),
    challengers: stage.challengers.map((c) => ({
      ...candidateInfo(run, c, label(c)),
      change: against(c, stage.incumbent),
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
    gain: stage.verdict === 'better' ? against(stage.winner, stage.incumbent) : null,
  };
}
