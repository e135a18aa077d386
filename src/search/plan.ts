import { type Configuration, configurationKey } from '../records/settings.ts';
import type { FinishedTrial, Proposal, Purpose } from '../records/trial.ts';
import { decide, objectiveWorkload } from './decisions.ts';
import type { Strategy, StrategyContext } from './strategy.ts';

/** Tries of one measurement whose numbers were refused (`invalid_measurement`) before the study goes on without it. */
const triesWhenInvalid = 2;

/**
 * What every study measures, whatever its strategy: the baseline first; what the strategy asks for; then winner and
 * baseline on the further workloads, the baseline again for drift, and at last the winner once more, from a fresh start
 * by exactly the command that the report recommends. Pure, like the strategy. Empty: the study is done.
 */
export function nextProposals(
  strategy: Strategy,
  context: StrategyContext,
  finished: readonly FinishedTrial[],
  running: readonly Proposal[],
  n: number,
): readonly Proposal[] {
  const { study, space } = context;
  const objective = objectiveWorkload(study);
  const has = (configuration: Configuration, workload: string, purpose: Purpose): boolean => {
    const own = finished.filter(
      (t) =>
        t.purpose === purpose &&
        t.workload === workload &&
        t.fate !== 'cancelled' &&
        configurationKey(t.configuration) === configurationKey(configuration),
    );
    return own.some((t) => t.fate !== 'invalid_measurement') || own.length >= triesWhenInvalid;
  };
  const wait = running.length > 0;

  if (!has(space.baseline, objective, 'baseline')) {
    return wait ? [] : [start(space.baseline, [[objective, 'baseline']], 'what everything is compared with')];
  }
  const asked = strategy.ask(context, finished, running, n);
  if (asked.length > 0 || wait) return asked;

  const { winner, baseline } = decide(study, space, finished, context.budgetSpent);
  const further = study.workloads.map((w) => w.name).filter((name) => name !== objective);
  const missing = (c: Configuration): [string, Purpose][] =>
    further.filter((w) => !has(c, w, 'further')).map((w) => [w, 'further']);
  const improved = winner.value !== null && configurationKey(winner.configuration) !== configurationKey(space.baseline);

  if (improved) {
    const forWinner = missing(winner.configuration);
    if (forWinner.length > 0) return [start(winner.configuration, forWinner, 'the winner on the further workloads')];
  }
  if (baseline.value !== null) {
    const forBaseline = missing(space.baseline);
    if (forBaseline.length > 0) return [start(space.baseline, forBaseline, 'the baseline on the further workloads')];
    if (!has(space.baseline, objective, 'baseline_again')) {
      return [
        start(
          space.baseline,
          [[objective, 'baseline_again']],
          'the baseline again, to see how far the machine drifted',
        ),
      ];
    }
  }
  if (improved && !has(winner.configuration, objective, 'confirmation')) {
    return [
      start(winner.configuration, [[objective, 'confirmation']], 'the recommended command, as the report gives it'),
    ];
  }
  return [];
}

const start = (configuration: Configuration, measure: [string, Purpose][], reason: string): Proposal => ({
  configuration,
  measure: measure.map(([workload, purpose]) => ({ workload, purpose })),
  reason,
});

/** Most trials that the end of a study (further workloads, baseline again, confirmation) can still need. */
export const reservedTrials = (workloads: number): number => 2 * (workloads - 1) + 2;
