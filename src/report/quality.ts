import { better } from '../metrics/objective.ts';
import type { RunData } from '../records/run.ts';
import { type Configuration, configurationKey, configurationLabel } from '../records/settings.ts';
import type { ClientHealth } from '../records/summary.ts';
import { type FinishedTrial, fates } from '../records/trial.ts';
import { candidateOf, type Decisions, decide } from '../search/decisions.ts';
import { compareScores, estimateNoise } from '../search/noise.ts';
import { changeOf, type Extreme, type Quality, type Recheck } from './info.ts';

/** How far the run's numbers can be trusted, as numbers. */
export function qualityOf(run: RunData, decisions: Decisions): Quality {
  const { trials } = run;
  const { noise } = decisions;
  const again = trials.filter((t) => t.purpose === 'baseline_again').at(-1);
  const confirmation = trials.filter((t) => t.purpose === 'confirmation').at(-1);
  const first = decisions.baseline.trials.find((t) => t.purpose === 'baseline' && scoresOf(run, [t]).length > 0);
  const total = (part: 'asked' | 'ok' | 'failed' | 'notSent'): number =>
    trials.reduce((sum, { summary }) => sum + (summary?.[part] ?? 0), 0);
  return {
    noise: {
      sd: noise.sd,
      repeats: noise.repeats,
      priorRepeats: estimateNoise([]).degreesOfFreedom,
    },
    repeated: repeatedOf(run),
    drift: again ? recheck(run, again, first ? [first] : []) : null,
    confirmation: confirmation
      ? recheck(
          run,
          confirmation,
          decisions.winner.trials.filter((t) => t.id < confirmation.id),
        )
      : null,
    client: clientOf(trials),
    outputShare: extreme(
      trials,
      ({ summary }) =>
        summary && summary.outputTokensAsked > 0 ? summary.outputTokens / summary.outputTokensAsked : undefined,
      (a, b) => a < b,
    ),
    failedTrials: fates
      .filter((fate) => fate !== 'measured')
      .map((fate) => ({ fate, trialIds: trials.filter((t) => t.fate === fate).map((t) => t.id) }))
      .filter(({ trialIds }) => trialIds.length > 0),
    requests: { asked: total('asked'), ok: total('ok'), failed: total('failed'), notSent: total('notSent') },
    warnings: warningsOf(trials),
  };
}

const scoresOf = ({ study }: RunData, trials: readonly FinishedTrial[]): readonly number[] =>
  trials.flatMap((t) => candidateOf(study, t.configuration, t.workload, [t]).scores);

/** Judged by the noise of everything else: with only few repeats, a drift would else be its own excuse. */
function recheck(run: RunData, trial: FinishedTrial, earlier: readonly FinishedTrial[]): Recheck {
  const { study, space, trials } = run;
  const { noise } = decide(
    study,
    space,
    trials.filter((t) => t !== trial),
    true,
  );
  const value = (trials: readonly FinishedTrial[]): number | null =>
    candidateOf(study, trial.configuration, trial.workload, trials).value;
  const [late, early] = [scoresOf(run, [trial]), scoresOf(run, earlier)];
  return {
    trialId: trial.id,
    value: value([trial]),
    against: value(earlier),
    change:
      late.length > 0 && early.length > 0
        ? changeOf(compareScores(late, early, noise), better(study.objective.metric))
        : null,
  };
}

function repeatedOf({ study, trials }: RunData): Quality['repeated'] {
  const groups = new Map<string, { configuration: Configuration; workload: string }>();
  for (const { configuration, workload } of trials) {
    groups.set(`${configurationKey(configuration)} ${workload}`, { configuration, workload });
  }
  return [...groups.values()].flatMap(({ configuration, workload }) => {
    const counted = candidateOf(study, configuration, workload, trials).trials.flatMap((trial) => {
      const { value } = candidateOf(study, configuration, workload, [trial]);
      return value === null ? [] : [{ id: trial.id, value }];
    });
    if (counted.length < 2) return [];
    return {
      label: configurationLabel(configuration),
      workload,
      values: counted.map((c) => c.value),
      trialIds: counted.map((c) => c.id),
    };
  });
}

/** The extreme of a figure over the trials that have it. */
function extreme(
  trials: readonly FinishedTrial[],
  figure: (trial: FinishedTrial) => number | undefined,
  beats: (a: number, b: number) => boolean,
): Extreme | null {
  let worst: Extreme | null = null;
  for (const trial of trials) {
    const value = figure(trial);
    if (value !== undefined && (worst === null || beats(value, worst.value))) worst = { value, trialId: trial.id };
  }
  return worst;
}

function clientOf(trials: readonly FinishedTrial[]): Quality['client'] {
  const most = (figure: (client: ClientHealth) => number): Extreme | null =>
    extreme(
      trials,
      ({ client }) => (client ? figure(client) : undefined),
      (a, b) => a > b,
    );
  const loopDelayP99S = most((c) => c.loopDelayP99S);
  const loopDelayMaxS = most((c) => c.loopDelayMaxS);
  const cpuShare = most((c) => c.cpuShare);
  const sendLagP99S = most((c) => c.sendLagP99S);
  if (!loopDelayP99S || !loopDelayMaxS || !cpuShare || !sendLagP99S) return null;
  const bound = trials.flatMap(({ id, client, failure }) =>
    client?.verdict === 'client_bound' ? [{ trialId: id, reason: client.reason ?? failure?.message ?? '' }] : [],
  );
  return { loopDelayP99S, loopDelayMaxS, cpuShare, sendLagP99S, bound };
}

function warningsOf(trials: readonly FinishedTrial[]): Quality['warnings'] {
  const ids = new Map<string, number[]>();
  for (const { id, summary } of trials) {
    for (const text of new Set(summary?.warnings)) ids.set(text, [...(ids.get(text) ?? []), id]);
  }
  return [...ids].map(([text, trialIds]) => ({ text, trialIds }));
}
