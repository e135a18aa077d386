import type { Messages } from '../../i18n/messages.ts';
import { capitalised, formatShare } from '../../kit/words.ts';
import { configurationKey, configurationLabel } from '../../records/settings.ts';
import { type Block, command, heading, muted, paragraph, strong, type Table } from '../document.ts';
import {
  bare,
  changeCell,
  changeText,
  commandText,
  intervalCell,
  intervalText,
  labelText,
  objectiveColumn,
  quantity,
} from '../figures.ts';
import { judgedOtherwise, type ReportInfo, type StageInfo, type TrialInfo, trialsOf } from '../info.ts';
import type { Section } from '../section.ts';
import { effectiveSettings, trialBlocks } from '../trial-blocks.ts';

/** The stages in order, each configuration with its command and every one of its runs, and what was decided by them. */
export const stages: Section = {
  name: 'stages',
  figures: true,

  render(info, words) {
    const say = words.stages;
    const told = new Set<TrialInfo>();
    const group = (trials: readonly TrialInfo[]): readonly TrialInfo[] => {
      for (const trial of trials) told.add(trial);
      return trials;
    };
    const baseline = group(info.trials.filter((t) => t.purpose === 'baseline'));
    const blocks: Block[] = [heading(2, say.heading)];
    if (info.trials.length === 0) blocks.push(paragraph(say.nothing));
    if (baseline.length > 0) {
      blocks.push(
        heading(3, say.baseline),
        paragraph(muted(info.baseline.label)),
        ...configuration(info, baseline, words),
      );
    }
    info.stages.forEach((stage, i) => {
      const own = group(info.trials.filter((t) => t.stage === stage.name && !told.has(t)));
      blocks.push(
        heading(3, say.stage(i + 1, capitalised(stage.name, words.locale))),
        ...stageBlocks(info, stage, own, words),
      );
    });
    // Later sections show these: further workloads, the last baseline, the confirmation.
    const elsewhere = new Set(['further', 'baseline_again', 'confirmation']);
    const others = info.trials.filter((t) => !told.has(t) && !elsewhere.has(t.purpose));
    if (others.length > 0) {
      blocks.push(heading(3, say.others), ...byConfiguration(info, others, () => undefined, words));
    }
    return blocks;
  },
};

function stageBlocks(info: ReportInfo, stage: StageInfo, own: readonly TrialInfo[], words: Messages): Block[] {
  const say = words.stages;
  const labels = new Map(
    [stage.incumbent, ...stage.challengers].map((c) => [configurationKey(c.configuration), c.label]),
  );
  const labelOf = (trial: TrialInfo): string | undefined =>
    labels.get(configurationKey(trial.configuration)) ?? undefined;
  return [
    paragraph(say.incumbent(configurationLabel(stage.incumbent.configuration))),
    ...(stage.challengers.some((c) => c.trialIds.length > 0) ? [comparison(info, stage, words)] : []),
    ...(stage.ranking.length > 1
      ? [paragraph(strong(say.result(rankingLine(info, stage, words)) + markOf(info, words)))]
      : []),
    ...(stage.ranking.some((r) => r.tied) ? [paragraph(muted(say.tiedLegend))] : []),
    paragraph(verdictOf(stage, words)),
    ...doubts(info, stage, words),
    ...byConfiguration(info, own, labelOf, words),
  ];
}

/** `A (x tok/s) > B (y tok/s) ≈ C (z tok/s)`. */
const rankingLine = ({ objective }: ReportInfo, { ranking }: StageInfo, words: Messages): string =>
  ranking
    .map(({ label, value, tied }, i) => {
      const sign = i === ranking.length - 1 ? '' : tied ? ' ≈ ' : objective.better === 'higher' ? ' > ' : ' < ';
      return `${labelText(label, words)} (${quantity(value, objective.unit, words)})${sign}`;
    })
    .join('');

function verdictOf(stage: StageInfo, words: Messages): string {
  const say = words.stages;
  const label = labelText(stage.winner, words);
  const gain = stage.comparison?.decided;
  switch (stage.verdict) {
    case 'better':
      return gain ? say.better(label, changeText(gain, words), intervalText(gain, words)) : say.chosen(label);
    case 'no_significant_difference':
      return say.noDifference;
    case 'worse':
      return say.worse;
    case 'none_qualified':
      return say.noneQualified;
    case 'not_tried':
      return stage.challengers.length === 0 ? say.nothingToTry : say.notTried;
    case 'pending':
      return say.pending;
  }
}

/** Later repeats may show more noise, or less, than the stage was decided by. */
function doubts({ quality }: ReportInfo, stage: StageInfo, words: Messages): Block[] {
  const otherwise = judgedOtherwise(stage);
  if (!otherwise || !stage.comparison) return [];
  const { label, atRunNoise } = stage.comparison;
  const sentence = otherwise === 'covered' ? words.stages.laterCovered : words.stages.laterClear;
  const sd = formatShare(quality.noise.sd, words.locale);
  return [paragraph(sentence(label, changeText(atRunNoise, words), sd, intervalText(atRunNoise, words)))];
}

function comparison(info: ReportInfo, stage: StageInfo, words: Messages): Table {
  const { columns, stages: say } = words;
  const row = ({ label, runs, value, trialIds }: StageInfo['incumbent']) => [
    labelText(label, words),
    trialIds.length > runs ? say.runsOf(runs, trialIds.length) : String(runs),
    bare(value, words),
  ];
  return {
    kind: 'table',
    caption: say.tableCaption(stage.name, formatShare(stage.noiseSd, words.locale)),
    columns: [
      { title: columns.configuration },
      { title: columns.runs, numeric: true },
      { title: objectiveColumn(info, words), numeric: true },
      { title: say.againstIncumbent, numeric: true },
      { title: columns.interval, numeric: true },
    ],
    rows: [
      [...row(stage.incumbent), [muted(say.incumbentMark)], words.none],
      ...stage.challengers.map((c) => [...row(c), changeCell(c.change, words), intervalCell(c.change, words)]),
    ],
  };
}

/** Trials under one heading a configuration, in the order in which each first ran. */
function byConfiguration(
  info: ReportInfo,
  trials: readonly TrialInfo[],
  labelOf: (trial: TrialInfo) => string | undefined,
  words: Messages,
): Block[] {
  const groups = new Map<string, number[]>();
  for (const trial of trials) {
    const key = configurationKey(trial.configuration);
    groups.set(key, [...(groups.get(key) ?? []), trial.id]);
  }
  return [...groups.values()].flatMap((ids) => {
    const own = trialsOf(info, ids);
    const first = own[0];
    if (!first) return [];
    return [heading(4, labelOf(first) ?? first.label), ...configuration(info, own, words)];
  });
}

function configuration(info: ReportInfo, trials: readonly TrialInfo[], words: Messages): Block[] {
  const started = trials.find((t) => t.servingCommand.length > 0);
  return [
    ...(started ? [command(commandText(started.servingCommand))] : []),
    ...trials.flatMap((trial) => trialBlocks(info, trial, words)),
    ...effectiveSettings(trials, words),
  ];
}

const markOf = ({ simulated }: ReportInfo, words: Messages): string => (simulated ? ` (${words.simulated.mark})` : '');
