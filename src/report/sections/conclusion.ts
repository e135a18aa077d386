import type { Messages } from '../../i18n/messages.ts';
import { formatMoment } from '../../kit/words.ts';
import { barChart } from '../charts/bars.ts';
import { type Block, command, type Figures, heading, muted, paragraph, strong, type Table } from '../document.ts';
import { bare, changeCell, changeText, commandText, intervalCell, intervalText, quantity, toneOf } from '../figures.ts';
import { type Change, decidingResult, isAttached, type ReportInfo } from '../info.ts';
import type { Section } from '../section.ts';

/** What to run, what it gains and how sure that is, on the first screen. */
export const conclusion: Section = {
  name: 'conclusion',
  figures: true,

  render(info, words) {
    const { modelName, hardware, name, servetuneVersion, time } = info;
    const titleOf =
      info.objective.better === 'higher' ? words.conclusion.titleThroughput : words.conclusion.titleLatency;
    const moment = info.simulated ? words.simulated.moment : formatMoment(time.endedAt ?? time.beganAt, words.locale);
    return [
      heading(1, titleOf(modelName, hardware)),
      paragraph(muted(words.conclusion.subtitle(name, moment, servetuneVersion))),
      ...(info.simulated ? [warning(bannerOf(info, words))] : []),
      heading(2, words.conclusion.heading),
      ...(info.finished ? [] : [warning(words.conclusion.unfinished)]),
      ...(info.conclusion.verdict === 'unmeasured'
        ? nothingToRecommend(info, words)
        : [...recommendation(info, words), ...figures(info, words), table(info, words), ...chart(info, words)]),
    ];
  },
};

const bannerOf = ({ uncalibrated }: ReportInfo, { simulated: say }: Messages): string =>
  uncalibrated ? `${say.banner} ${say.uncalibrated}` : say.banner;

const warning = (text: string): Block => ({ kind: 'callout', tone: 'warning', blocks: [paragraph(text)] });

function nothingToRecommend(info: ReportInfo, words: Messages): Block[] {
  if (info.trials.length === 0) return [paragraph(strong(words.stages.nothing))];
  const reason = decidingResult(info)?.baseline.disqualified;
  return [
    paragraph(strong(words.conclusion.unmeasured)),
    ...(reason ? [warning(words.conclusion.baselineFailed(reason))] : []),
  ];
}

function recommendation(info: ReportInfo, words: Messages): Block[] {
  const { verdict } = info.conclusion;
  const say = words.conclusion;
  return [
    ...whatToServe(info, words),
    ...(verdict === 'keep_baseline' ? keptBaseline(info, words) : []),
    ...(verdict === 'no_baseline'
      ? [paragraph(say.noBaseline(decidingResult(info)?.baseline.disqualified ?? say.notMeasured))]
      : []),
    ...caveat(info, words),
    ...doubts(info, words),
  ];
}

function whatToServe({ conclusion, winner, finished, modelName, hardware }: ReportInfo, words: Messages): Block[] {
  const say = words.conclusion;
  if (isAttached(winner.configuration)) {
    return [paragraph(say.recommendedServer(modelName, hardware)), paragraph(strong(say.serverAsItRuns))];
  }
  const { servingCommand } = conclusion;
  return [
    paragraph((finished ? say.recommended : say.bestSoFar)(modelName, hardware)),
    servingCommand.length > 0 ? command(commandText(servingCommand), true) : paragraph(muted(say.noCommand)),
  ];
}

/** What was found later and speaks against the verdict: it must not be read without. */
function doubts({ quality: { drift, confirmation }, objective: { unit } }: ReportInfo, words: Messages): Block[] {
  const say = words.conclusion;
  const shown = (value: number | null): string => quantity(value, unit, words);
  return [
    ...(drift?.change && !isCovered(drift.change)
      ? [warning(say.drifted(shown(drift.against), shown(drift.value), changeText(drift.change, words)))]
      : []),
    ...(confirmation?.change && !isCovered(confirmation.change)
      ? [
          warning(
            say.notConfirmed(
              shown(confirmation.value),
              changeText(confirmation.change, words),
              shown(confirmation.against),
            ),
          ),
        ]
      : []),
  ];
}

function keptBaseline({ finished, stages }: ReportInfo, { conclusion: say }: Messages): Block[] {
  if (stages.every((stage) => stage.challengers.every((c) => c.trialIds.length === 0)))
    return [paragraph(say.nothingTried)];
  return finished ? [paragraph(strong(say.keepBaseline))] : [];
}

/** A gain stands in the figures below; only what speaks against adopting the winner needs a sentence. */
function caveat({ conclusion: { change, verdict }, objective }: ReportInfo, words: Messages): Block[] {
  if (!change || verdict === 'better') return [];
  const say = change.verdict === 'worse' ? words.conclusion.worse : words.conclusion.noDifference;
  const metric = words.metrics[objective.metric];
  return [warning(say(metric, objective.workload, changeText(change, words), intervalText(change, words)))];
}

function figures(info: ReportInfo, words: Messages): Figures[] {
  const deciding = decidingResult(info);
  if (!deciding) return [];
  const { change } = deciding;
  const metric = words.metrics[info.objective.metric];
  const side = (label: string, candidate: typeof deciding.baseline): Figures['items'][number] => ({
    label,
    value: quantity(candidate.value, info.objective.unit, words),
    ...(candidate.runs > 0 ? { note: words.conclusion.runs(candidate.runs) } : {}),
  });
  const baseline = side(words.columns.baseline, deciding.baseline);
  if (info.conclusion.verdict === 'keep_baseline') return [{ kind: 'figures', items: [baseline] }];
  return [
    {
      kind: 'figures',
      items: [
        ...(change
          ? [
              {
                label: words.conclusion.gainLabel(metric),
                value: changeText(change, words),
                note: words.conclusion.gainNote(intervalText(change, words), deciding.workload),
                tone: toneOf(change),
              },
            ]
          : []),
        side(words.columns.optimized, deciding.optimized),
        baseline,
      ],
    },
  ];
}

/** Objective, total throughput and TPOT of both sides, each once: an objective that is one of them needs no second column. */
function table(info: ReportInfo, words: Messages): Table {
  const { metric, unit } = info.objective;
  const { columns } = words;
  const kept = info.conclusion.verdict === 'keep_baseline';
  type Result = ReportInfo['results'][number];
  const pair = (title: string, of: (side: Result['baseline']) => number | null) =>
    kept
      ? [{ title: `${columns.baseline}: ${title}`, cell: (r: Result) => bare(of(r.baseline), words) }]
      : [
          { title: `${columns.baseline}: ${title}`, cell: (r: Result) => bare(of(r.baseline), words) },
          { title: `${columns.optimized}: ${title}`, cell: (r: Result) => bare(of(r.optimized), words) },
        ];
  const total = metric === 'total_token_throughput';
  const measured = [
    ...pair(total ? columns.totalThroughput : `${words.metrics[metric]}, ${unit}`, (side) => side.value),
    ...(kept
      ? []
      : [
          { title: columns.change, cell: (r: Result) => changeCell(r.change, words) },
          { title: columns.interval, cell: (r: Result) => intervalCell(r.change, words) },
        ]),
    ...(total ? [] : pair(columns.totalThroughput, (side) => side.totalTokenThroughput)),
    ...(metric === 'mean_tpot_ms' ? [] : pair(columns.meanTpot, (side) => side.meanTpotMs)),
  ];
  return {
    kind: 'table',
    caption: kept ? words.conclusion.baselineCaption : words.conclusion.tableCaption(words.metrics[metric]),
    columns: [{ title: columns.workload }, ...measured.map(({ title }) => ({ title, numeric: true }))],
    rows: info.results.map((result) => [result.workload, ...measured.map(({ cell }) => cell(result))]),
  };
}

const isCovered = ({ verdict }: Change): boolean => verdict === 'no_significant_difference';

function chart(info: ReportInfo, words: Messages): Block[] {
  const { metric, unit } = info.objective;
  const shown = info.results.filter((r) => r.baseline.value !== null || r.optimized.value !== null);
  if (shown.length === 0 || info.conclusion.verdict === 'keep_baseline') return [];
  const rows = shown.map((r) =>
    words.conclusion.chartRow(
      r.workload,
      quantity(r.baseline.value, unit, words),
      quantity(r.optimized.value, unit, words),
      r.change ? [changeText(r.change, words), ...(isCovered(r.change) ? [words.notSignificant] : [])].join(', ') : '',
    ),
  );
  const title = words.conclusion.chartTitle(words.metrics[metric]);
  const description = words.conclusion.chartDescription(rows);
  const svg = barChart({
    title,
    description,
    unit,
    locale: words.locale,
    ...(info.simulated ? { mark: words.simulated.mark } : {}),
    missing: words.conclusion.notMeasured,
    ...(shown.some((r) => r.change && isCovered(r.change)) ? { legend: words.conclusion.chartLegend } : {}),
    groups: shown.map(({ workload, baseline, optimized, change }) => ({
      label: workload,
      bars: [
        { series: words.columns.baseline, value: baseline.value },
        {
          series: words.columns.optimized,
          value: optimized.value,
          ...(change && baseline.value !== null
            ? {
                low: baseline.value * change.low,
                high: baseline.value * change.high,
                note: isCovered(change)
                  ? `${changeText(change, words)} ${words.conclusion.chartMark}`
                  : changeText(change, words),
                tone: toneOf(change),
              }
            : {}),
        },
      ],
    })),
  });
  return [
    {
      kind: 'image',
      file: 'report-chart.svg',
      svg,
      alt: `${title}. ${description}`,
      caption: words.conclusion.chartCaption,
    },
  ];
}
