import type { Messages } from '../../i18n/messages.ts';
import { capitalised } from '../../kit/words.ts';
import { type Block, heading, paragraph, type Table } from '../document.ts';
import { bare, changeCell, intervalCell, objectiveColumn } from '../figures.ts';
import { type CandidateInfo, type ReportInfo, trialsOf, type WorkloadResult } from '../info.ts';
import type { Section } from '../section.ts';
import { trialBlocks } from '../trial-blocks.ts';

/** Baseline and winner under the workloads that did not decide. */
export const further: Section = {
  name: 'further',
  figures: true,

  render(info, words) {
    const say = words.further;
    const results = info.results.filter((r) => !r.decides);
    if (results.length === 0) return [heading(2, say.heading), paragraph(say.none)];
    return [
      heading(2, say.heading),
      paragraph(say.introduction),
      ...results.flatMap((result) => [heading(3, result.workload), ...resultBlocks(info, result, words)]),
    ];
  },
};

function resultBlocks(info: ReportInfo, result: WorkloadResult, words: Messages): Block[] {
  const trials = info.trials.filter((t) => t.purpose === 'further' && t.workload === result.workload);
  if (trials.length === 0) return [paragraph(words.further.notMeasured)];
  const sides = [
    { title: words.columns.baseline, side: result.baseline },
    { title: words.columns.optimized, side: result.optimized },
  ].slice(0, info.conclusion.verdict === 'keep_baseline' ? 1 : 2);
  const shown = new Set<number>();
  const ofSides = sides.flatMap(({ title, side }) => {
    const own = trialsOf(info, side.trialIds).filter((t) => t.purpose === 'further');
    for (const { id } of own) shown.add(id);
    return own.length === 0
      ? []
      : [
          heading(4, side.label === null ? title : `${title}: ${side.label}`),
          ...own.flatMap((trial) => trialBlocks(info, trial, words)),
        ];
  });
  const rest = trials.filter((t) => !shown.has(t.id));
  return [
    comparison(info, result, sides, words),
    ...ofSides,
    ...rest.flatMap((trial) => [heading(4, trial.label), ...trialBlocks(info, trial, words)]),
  ];
}

function comparison(
  info: ReportInfo,
  { workload, change }: WorkloadResult,
  sides: readonly { title: string; side: CandidateInfo }[],
  words: Messages,
): Table {
  const { columns } = words;
  const total = info.objective.metric === 'total_token_throughput';
  return {
    kind: 'table',
    caption: words.further.caption(workload),
    columns: [
      { title: words.further.side },
      { title: columns.runs, numeric: true },
      { title: objectiveColumn(info, words), numeric: true },
      ...(total ? [] : [{ title: capitalised(columns.totalThroughput, words.locale), numeric: true }]),
      { title: capitalised(columns.meanTpot, words.locale), numeric: true },
      { title: columns.change, numeric: true },
      { title: columns.interval, numeric: true },
    ],
    rows: sides.map(({ title, side }, i) => [
      title,
      String(side.runs),
      bare(side.value, words),
      ...(total ? [] : [bare(side.totalTokenThroughput, words)]),
      bare(side.meanTpotMs, words),
      i === 0 ? words.none : changeCell(change, words),
      i === 0 ? words.none : intervalCell(change, words),
    ]),
  };
}
