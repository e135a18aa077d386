import { formatList } from '../../kit/words.ts';
import { heading } from '../document.ts';
import { allAttached } from '../info.ts';
import type { Section } from '../section.ts';

/** What the run did not do, so that nobody concludes more than it shows. */
export const notes: Section = {
  name: 'notes',
  figures: false,

  render(info, words) {
    const { scope, workloads, objective } = info;
    const repeats = allAttached(info) ? words.notes.repeatsAttached : words.notes.repeats;
    const { notes: say } = words;
    const list = (names: readonly string[]): string => formatList(names, words.locale);
    const all = scope.configurationsTried >= scope.configurationsSpanned;
    return [
      heading(2, say.heading),
      {
        kind: 'list',
        items: [
          all
            ? say.exhaustive(scope.configurationsSpanned)
            : say.greedy(scope.configurationsTried, scope.configurationsSpanned),
          scope.closeCalls > 0 ? repeats(scope.closeCalls) : say.noRepeats,
          ...(scope.failedConfigurations > 0 ? [say.failed(scope.failedConfigurations)] : []),
          ...(scope.stagesNotTried.length > 0 ? [say.stagesNotTried(list(scope.stagesNotTried))] : []),
          ...(scope.numberFormats.length > 0 ? [say.numberFormats(list(scope.numberFormats))] : []),
          ...(scope.workloads > 1 ? [say.deciding(objective.workload)] : []),
          ...(workloads.some(({ options }) => options.dataset_name === 'random') ? [say.randomPrompts] : []),
          say.manyIntervals,
          say.thisMachine,
        ],
      },
    ];
  },
};
