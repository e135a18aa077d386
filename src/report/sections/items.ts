import { heading, muted, paragraph, strong, type Text } from '../document.ts';
import { changeCell, intervalCell } from '../figures.ts';
import { decidingResult } from '../info.ts';
import type { Section } from '../section.ts';

/** What each stage contributed; nothing where noise covers it. */
export const items: Section = {
  name: 'items',
  figures: true,

  render(info, words) {
    const say = words.items;
    if (info.stages.length === 0) return [heading(2, say.heading), paragraph(say.nothing)];
    const rows: Text[][] = info.stages.map(({ name, winner, gain, verdict }) => [
      name,
      verdict === 'better' ? winner : words.none,
      changeCell(gain, words),
      intervalCell(gain, words),
    ]);
    const { change } = info.conclusion;
    return [
      heading(2, say.heading),
      {
        kind: 'table',
        caption: say.caption(words.metrics[info.objective.metric]),
        columns: [
          { title: say.stage },
          { title: say.chosen },
          { title: say.improvement, numeric: true },
          { title: words.columns.interval, numeric: true },
        ],
        rows: [
          ...rows,
          ...(change
            ? [
                [
                  [strong(say.together)],
                  decidingResult(info)?.optimized.label ?? words.none,
                  changeCell(change, words),
                  intervalCell(change, words),
                ],
              ]
            : []),
        ],
      },
      paragraph(muted(say.legend)),
    ];
  },
};
