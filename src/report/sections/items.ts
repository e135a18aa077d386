import type { Messages } from '../../i18n/messages.ts';
import { formatShare } from '../../kit/words.ts';
import { heading, muted, paragraph, pieces, strong, type Text } from '../document.ts';
import { changeCell, intervalCell, labelText } from '../figures.ts';
import { decidingResult, judgedOtherwise, type ReportInfo } from '../info.ts';
import type { Section } from '../section.ts';

/** What each stage contributed; nothing where noise covers it. */
export const items: Section = {
  name: 'items',
  figures: true,

  render(info, words) {
    const say = words.items;
    if (info.stages.length === 0) return [heading(2, say.heading), paragraph(say.nothing)];
    const sd = formatShare(info.quality.noise.sd, words.locale);
    const rows: Text[][] = info.stages.map((stage) => {
      const gain = stage.verdict === 'better' ? (stage.comparison?.atRunNoise ?? null) : null;
      const otherwise = judgedOtherwise(stage);
      return [
        stage.name,
        stage.verdict === 'better' ? labelText(stage.winner, words) : words.none,
        otherwise ? [...pieces(changeCell(gain, words)), ` ${say.marks[otherwise]}`] : changeCell(gain, words),
        intervalCell(gain, words),
      ];
    });
    const marks = [...new Set(info.stages.flatMap((stage) => judgedOtherwise(stage) ?? []))].sort();
    const { change } = info.conclusion;
    return [
      heading(2, say.heading),
      {
        kind: 'table',
        caption: say.caption(words.metrics[info.objective.metric], sd),
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
                  togetherLabel(info, words),
                  changeCell(change, words),
                  intervalCell(change, words),
                ],
              ]
            : []),
        ],
      },
      paragraph(muted(`${say.legend} ${say.runs}`)),
      ...marks.map((mark) => paragraph(`${say.marks[mark]} ${mark === 'covered' ? say.covered(sd) : say.clear(sd)}`)),
    ];
  },
};

function togetherLabel(info: ReportInfo, words: Messages): string {
  const deciding = decidingResult(info);
  return deciding ? labelText(deciding.optimized.label, words) : words.none;
}
