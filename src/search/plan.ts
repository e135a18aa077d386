import { type Configuration, configurationKey } from '../records/settings.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial, Proposal, Purpose } from '../records/trial.ts';
import { decide, objectiveWorkload, unfitIn } from './decisions.ts';
import type { Strategy, StrategyContext } from './strategy.ts';

/** Tries of one measurement whose numbers were refused (`invalid_measurement`) before the study goes on without it. */
const triesWhenInvalid = 2;

/**
 * What every study measures, whatever its strategy: the baseline first; what the strategy asks for; then winner and
 * baseline on the further workloads, the baseline again for drift, and at last the winner once more, from a fresh start
 * by exactly the command that the report recommends. A winner that its confirmation finds unfit is out, and the
 * strategy is asked again; each configuration is confirmed once, so that ends too. Pure, like the strategy. Empty: the
 * study is done.
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

/**
 * Most trials that the end of a study can need: winner and baseline on the further workloads, the baseline again, the
 * confirmation; and where a stress burst may find the winner unfit, those of the next winner. What unfit winners have
 * taken stays counted, so that the answer grows only when a second one is found.
 */
export function reservedTrials(
  { workloads, limits }: Pick<StudySpec, 'workloads' | 'limits'>,
  finished: readonly FinishedTrial[],
): number {
  const ofWinner = workloads.length;
  const ofBaseline = workloads.length;
  const spare = limits.stress_burst_tokens === 0 ? 0 : ofWinner;
  return ofWinner + ofBaseline + Math.max(spare, finished.length - withoutUnfit(finished).length);
}

/** Trials without those of the end of a study that an unfit winner took: they are to be measured of the next one. */
export function withoutUnfit(finished: readonly FinishedTrial[]): readonly FinishedTrial[] {
  const unfit = unfitIn(finished);
  return finished.filter(
    ({ purpose, configuration }) =>
      !((purpose === 'further' || purpose === 'confirmation') && unfit.has(configurationKey(configuration))),
  );
}
