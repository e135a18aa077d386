import { type Configuration, configurationKey, engineLabel } from '../records/settings.ts';
import type { Proposal } from '../records/trial.ts';
import { decide, objectiveWorkload } from './decisions.ts';
import type { Strategy } from './strategy.ts';

/**
 * The reference study's way: stage by stage, each on top of the winner so far. Where the reference compares single
 * runs, a comparison that noise could explain is repeated from fresh starts first.
 */
export const staged: Strategy = {
  name: 'staged',
  description: 'stage by stage, each on top of the winner so far; close calls are repeated',

  ask({ study, space, budgetSpent }, finished, running, n) {
    const { stages } = decide(study, space, finished, budgetSpent);
    const stage = stages.at(-1);
    if (stage?.verdict !== 'pending') return [];
    const busy = new Set(running.map((p) => configurationKey(p.configuration)));
    return stage.wanted
      .filter(({ configuration }) => !busy.has(configurationKey(configuration)))
      .slice(0, n)
      .map(
        ({ configuration, purpose }): Proposal => ({
          configuration,
          measure: [{ workload: objectiveWorkload(study), purpose }],
          stage: stage.name,
          parent: stage.incumbent.configuration,
          reason:
            purpose === 'stage'
              ? `stage ${stage.name}: ${changes(stage.incumbent.configuration, configuration)}`
              : `stage ${stage.name}: too close to call, once more: ${changes(stage.incumbent.configuration, configuration)}`,
        }),
      );
  },
};

const changes = (before: Configuration, after: Configuration): string =>
  [
    ...(engineLabel(before) === engineLabel(after) ? [] : [engineLabel(after)]),
    ...Object.entries(after.settings)
      .filter(([name, value]) => before.settings[name] !== value)
      .map(([name, value]) => `${name}=${value}`),
  ].join(' ') || 'as it came in';
