import { better, objectiveValue } from '../metrics/objective.ts';
import { type Configuration, configurationKey } from '../records/settings.ts';
import { applyAlternative, type SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import type { Fate, FinishedTrial } from '../records/trial.ts';
import { type Comparison, compareScores, estimateNoise, type Noise } from './noise.ts';

/** One configuration under one workload, with everything that was measured of it. */
export interface Candidate {
  readonly configuration: Configuration;
  /** In the order of their ids, failed ones too. */
  readonly trials: readonly FinishedTrial[];
  /** ln of the objective of each trial that qualifies, signed so that larger is better. */
  readonly scores: readonly number[];
  /** Geometric mean of the objective over the trials that qualify; null when none does. */
  readonly value: number | null;
  /** Why it cannot win, when it cannot. */
  readonly disqualified?: string;
}

export type StageVerdict =
  /** The winner beats what came into the stage beyond the noise. */
  | 'better'
  /** Noise covers the difference; what came in stays. */
  | 'no_significant_difference'
  /** Every alternative is significantly worse; what came in stays. */
  | 'worse'
  /** No alternative qualified; what came in stays. */
  | 'none_qualified'
  /** The budget ended before an alternative was tried. */
  | 'not_tried'
  | 'pending';

export interface StageDecision {
  readonly name: string;
  /** What earlier stages chose. */
  readonly incumbent: Candidate;
  /** In the study's order; an alternative that equals the incumbent is left out. */
  readonly challengers: readonly Candidate[];
  /** Those that qualify, incumbent included, best first. */
  readonly ranking: readonly Candidate[];
  readonly verdict: StageVerdict;
  readonly winner: Candidate;
  /** The winner against the incumbent, or the best challenger where the incumbent stays; null where one of them has no score. */
  readonly comparison: Comparison | null;
  /** What the stage was judged by: from the trials that it could see. */
  readonly noise: Noise;
  /** What must be measured before the stage is decided; empty once it is. */
  readonly wanted: readonly { readonly configuration: Configuration; readonly purpose: 'stage' | 'repeat' }[];
}

export interface Decisions {
  readonly baseline: Candidate;
  /** As far as they were reached; the last one may be pending. */
  readonly stages: readonly StageDecision[];
  /** The configuration to recommend, as far as is known. */
  readonly winner: Candidate;
  /** All stages are decided. */
  readonly complete: boolean;
  /** Over every repeat of the run, on the objective's workload. */
  readonly noise: Noise;
}

/** Name of the workload that decides. */
export const objectiveWorkload = (study: StudySpec): string =>
  study.objective.workload ?? (study.workloads[0]?.name as string);

/** What a confirmation must not end with: the engine is started as recommended, and what is recommended must live. */
const unfitFates: readonly Fate[] = ['out_of_memory', 'crashed_under_load', 'hung'];

/**
 * Configurations that died, hung or ran out of memory when they were confirmed, by `configurationKey`, each with the
 * reason. None of them can win any more, whatever it scored before.
 */
export function unfitIn(trials: readonly FinishedTrial[]): ReadonlyMap<string, string> {
  const unfit = trials.filter((t) => t.purpose === 'confirmation' && unfitFates.includes(t.fate));
  return new Map(unfit.map((t) => [configurationKey(t.configuration), reasonOf(t)]));
}

const reasonOf = ({ fate, failure }: FinishedTrial): string => `${fate}: ${failure?.message ?? 'no result'}`;

/**
 * Everything that was measured of `configuration` under `workload`, by the study's objective and constraints.
 *
 * @param unfit those that cannot win, where `trials` are not all of the run
 */
export function candidateOf(
  study: StudySpec,
  configuration: Configuration,
  workload: string,
  trials: readonly FinishedTrial[],
  unfit: ReadonlyMap<string, string> = unfitIn(trials),
): Candidate {
  const measured = measuredOf(study, configuration, workload, trials);
  const disqualified = unfit.get(configurationKey(configuration));
  return disqualified === undefined ? measured : { ...measured, scores: [], value: null, disqualified };
}

/** The same before anybody asks whether it is fit. */
function measuredOf(
  study: StudySpec,
  configuration: Configuration,
  workload: string,
  trials: readonly FinishedTrial[],
): Candidate {
  const key = configurationKey(configuration);
  const own = trials.filter((t) => t.workload === workload && configurationKey(t.configuration) === key);
  const sign = better(study.objective.metric) === 'higher' ? 1 : -1;
  const scores: number[] = [];
  let reason: string | undefined;
  for (const trial of own) {
    const verdict = scoreOf(study, trial, workload);
    if (typeof verdict === 'string') reason = verdict;
    else scores.push(sign * Math.log(verdict));
  }
  const value = scores.length === 0 ? null : Math.exp((sign * scores.reduce((a, b) => a + b, 0)) / scores.length);
  return {
    configuration,
    trials: own,
    scores,
    value,
    ...(scores.length === 0 ? { disqualified: reason ?? 'not measured' } : {}),
  };
}

/** The objective's value of one trial, or why it does not qualify. */
function scoreOf(study: StudySpec, trial: FinishedTrial, workload: string): number | string {
  if (trial.fate !== 'measured' || !trial.summary) return reasonOf(trial);
  if (workload === objectiveWorkload(study)) {
    for (const { metric, at_most, at_least } of study.constraints) {
      const value = objectiveValue(trial.summary, metric);
      if (value === null) return `${metric} was not measured`;
      if (at_most !== undefined && value > at_most)
        return `${metric} is ${Number(value.toPrecision(4))}, more than ${at_most}`;
      if (at_least !== undefined && value < at_least)
        return `${metric} is ${Number(value.toPrecision(4))}, less than ${at_least}`;
    }
  }
  const value = objectiveValue(trial.summary, study.objective.metric);
  return value !== null && value > 0 ? value : `${study.objective.metric} was not measured`;
}

/** Noise over all configurations of the run under the objective's workload; those of unfit ones are measurements all the same. */
function noiseOf(study: StudySpec, trials: readonly FinishedTrial[]): Noise {
  const workload = objectiveWorkload(study);
  const configurations = new Map(trials.map((t) => [configurationKey(t.configuration), t.configuration]));
  return estimateNoise([...configurations.values()].map((c) => measuredOf(study, c, workload, trials).scores));
}

/**
 * Replays a study's stages over its trials: a pure function, so a resumed study decides as an undisturbed one does.
 * A stage sees only the trials of the baseline, of earlier stages and its own, so nothing that is measured later can
 * turn a decision that later stages were built on. One thing does: a configuration that its confirmation found unfit is
 * left out of every stage, as if it had failed there, and what was built on it is decided anew on what wins without it.
 *
 * @param budgetSpent no further stage trial will come: decide with what there is
 */
export function decide(
  study: StudySpec,
  space: SearchSpace,
  trials: readonly FinishedTrial[],
  budgetSpent = false,
): Decisions {
  const workload = objectiveWorkload(study);
  const unfit = unfitIn(trials);
  const stages: StageDecision[] = [];
  let current = space.baseline;
  const seen = new Set<string>();
  for (const stage of space.stages) {
    seen.add(stage.name);
    const visible = trials.filter((t) => (t.stage === undefined ? t.purpose === 'baseline' : seen.has(t.stage)));
    const candidates = new Map<string, Configuration>();
    for (const alternative of stage.alternatives) {
      const configuration = applyAlternative(current, alternative);
      candidates.set(configurationKey(configuration), configuration);
    }
    candidates.delete(configurationKey(current));
    const of = (c: Configuration): Candidate => candidateOf(study, c, workload, visible, unfit);
    const decision = decideStage(study, stage.name, of(current), [...candidates.values()].map(of), {
      noise: noiseOf(study, visible),
      budgetSpent,
      unfit,
    });
    stages.push(decision);
    if (decision.verdict === 'pending') break;
    current = decision.winner.configuration;
  }
  return {
    baseline: candidateOf(study, space.baseline, workload, trials),
    stages,
    winner: candidateOf(study, current, workload, trials),
    complete: stages.length === space.stages.length && stages.at(-1)?.verdict !== 'pending',
    noise: noiseOf(study, trials),
  };
}

function decideStage(
  study: StudySpec,
  name: string,
  incumbent: Candidate,
  challengers: readonly Candidate[],
  { noise, budgetSpent, unfit }: { noise: Noise; budgetSpent: boolean; unfit: ReadonlyMap<string, string> },
): StageDecision {
  const fit = challengers.filter((c) => !unfit.has(configurationKey(c.configuration)));
  const everyone = [incumbent, ...fit];
  // Stable: at equal scores the incumbent, then the study's order.
  const ranking = everyone.filter((c) => c.value !== null).sort((a, b) => meanOf(b) - meanOf(a));
  const base = { name, incumbent, challengers, ranking, noise };
  const pending = (wanted: StageDecision['wanted']): StageDecision => ({
    ...base,
    verdict: 'pending',
    winner: incumbent,
    comparison: null,
    wanted,
  });

  const untried = fit.filter((c) => c.trials.length === 0);
  if (untried.length > 0 && !budgetSpent) {
    return pending(untried.map((c) => ({ configuration: c.configuration, purpose: 'stage' })));
  }
  const leader = ranking[0];
  const contenders = leader ? ranking.filter((c) => !separated(leader, c, noise)) : [];
  const repeatable = [...(contenders.length > 1 ? contenders : []), ...everyone.filter(invalidOnly)].filter(
    (c) => c.scores.length <= study.repeats.close_calls && c.trials.length <= study.repeats.close_calls + invalidTries,
  );
  if (repeatable.length > 0 && !budgetSpent) {
    // Fewest trials first, so that the repeats of close candidates interleave.
    const fewest = Math.min(...repeatable.map((c) => c.trials.length));
    const next = repeatable.filter((c) => c.trials.length === fewest);
    return pending(next.map((c) => ({ configuration: c.configuration, purpose: 'repeat' })));
  }

  const bestChallenger = ranking.find((c) => c !== incumbent);
  const against = (c: Candidate | undefined): Comparison | null =>
    c && c.scores.length > 0 && incumbent.scores.length > 0 ? compareScores(c.scores, incumbent.scores, noise) : null;
  if (!leader || !bestChallenger) {
    const verdict = untried.length === challengers.length ? 'not_tried' : 'none_qualified';
    return { ...base, verdict, winner: incumbent, comparison: null, wanted: [] };
  }
  if (contenders.includes(incumbent)) {
    const verdict = leader === incumbent && contenders.length === 1 ? 'worse' : 'no_significant_difference';
    return { ...base, verdict, winner: incumbent, comparison: against(bestChallenger), wanted: [] };
  }
  // Among challengers that noise does not tell apart the simplest wins: the one with the fewest settings.
  const simplest = Math.min(...contenders.map(settingCount));
  const winner = contenders.find((c) => settingCount(c) === simplest) ?? leader;
  return { ...base, verdict: 'better', winner, comparison: against(winner), wanted: [] };
}

/** Tries beyond the repeats that numbers which were refused may cost. */
const invalidTries = 2;

const meanOf = (c: Candidate): number => c.scores.reduce((a, b) => a + b, 0) / c.scores.length;
const settingCount = (c: Candidate): number => Object.keys(c.configuration.settings).length;
const separated = (leader: Candidate, c: Candidate, noise: Noise): boolean =>
  c !== leader && compareScores(leader.scores, c.scores, noise).significant;
/** It ran, but its numbers were refused each time: the machine may have been disturbed, so it deserves another try. */
const invalidOnly = (c: Candidate): boolean =>
  c.trials.length > 0 && c.scores.length === 0 && c.trials.every((t) => t.fate === 'invalid_measurement');
