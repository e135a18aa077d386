import { type Configuration, engineLabel } from '../records/settings.ts';
import { applyAlternative, type SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import type { StudyFile } from './read.ts';
import { configurationProblems, type KnownFacts } from './resolve.ts';
import { incumbentsOf } from './span.ts';

/** A configuration that a study would start. */
export interface PlannedStart {
  /** Absent: the baseline. */
  readonly stage?: string;
  readonly configuration: Configuration;
  /** Engines that can be ahead by then and would not be started with it, each with the reason. */
  readonly refusedBy: readonly { readonly engine: string; readonly reason: string }[];
  /** It stands on what the stages before it have chosen, not on an engine's defaults. */
  readonly buildsOn: boolean;
}

/**
 * The baseline and every alternative once: one that names an engine on that engine, any other on the baseline where its
 * engine takes it, else on the first engine of the stages before that does.
 */
export function plannedStarts(
  study: StudySpec,
  space: SearchSpace,
  place: StudyFile['place'],
  known: KnownFacts = {},
): readonly PlannedStart[] {
  const starts: PlannedStart[] = [{ configuration: space.baseline, refusedBy: [], buildsOn: false }];
  space.stages.forEach(({ name: stage, alternatives }, s) => {
    alternatives.forEach((alternative, a) => {
      const met = alternative.engine ? [space.baseline] : incumbentsOf(space, s);
      const tried = met.map((incumbent) => {
        const configuration = applyAlternative(incumbent, alternative);
        const at = ['stages', s, 'alternatives', a];
        const [problem] = configurationProblems(study, configuration, at, place, { known });
        return { configuration, problem };
      });
      const shown = tried.find(({ problem }) => problem === undefined) ?? tried[0];
      if (shown === undefined) return;
      const refusedBy = tried.flatMap(({ configuration, problem }) =>
        problem ? [{ engine: engineLabel(configuration), reason: problem.message }] : [],
      );
      starts.push({ stage, configuration: shown.configuration, refusedBy, buildsOn: alternative.engine === undefined });
    });
  });
  return starts;
}

/** From least to most. */
export type Span = readonly [least: number, most: number];

/** How much a study would start and measure. */
export interface StudySize {
  readonly starts: Span;
  readonly measurements: Span;
}

/**
 * At least: each configuration that every engine takes, once, and the baseline at the end. At most: all of them with every
 * repeat, and a winner on all workloads with its confirmation. Not counted is what is measured again because its numbers
 * were refused, or because a winner did not live through its confirmation.
 */
export function studySize({ workloads, repeats, budget }: StudySpec, starts: readonly PlannedStart[]): StudySize {
  const sure = starts.filter(({ refusedBy }) => refusedBy.length === 0).length;
  const most = starts.length * (1 + repeats.close_calls);
  const further = workloads.length - 1;
  const furtherStarts = further > 0 ? 1 : 0;
  const within = (count: number): number => Math.min(count, budget.max_trials);
  return {
    starts: [within(sure + furtherStarts + 1), within(most + 2 * furtherStarts + 2)],
    measurements: [within(sure + further + 1), within(most + 2 * further + 2)],
  };
}
