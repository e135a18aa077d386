import type { Messages } from '../../i18n/messages.ts';
import { formatBytes, formatDuration, formatNumber, formatQuantity, formatShare } from '../../kit/words.ts';
import { configurationKey } from '../../records/settings.ts';
import type { StartPartName } from '../../records/trial.ts';
import { type Block, heading, muted, paragraph, type Table } from '../document.ts';
import type { ReportInfo, TrialInfo } from '../info.ts';
import type { Section } from '../section.ts';

/** What engines and GPUs did besides answering: power, memory, starts, caches. Left out where none of them told anything. */
export const engines: Section = {
  name: 'engines',
  optional: true,
  figures: true,

  render(info, words) {
    const say = words.engines;
    const parts = [
      { title: say.ceiling, blocks: ceilingBlocks(info, words) },
      {
        title: say.gpu,
        blocks: table(
          say.gpuCaption,
          firstOfEach(info, (t) => t.gpu !== null),
          gpuColumns(words),
          words,
        ),
      },
      { title: say.start, blocks: startBlocks(info, words) },
      {
        title: say.counters,
        blocks: table(
          say.countersCaption,
          firstOfEach(info, (t) => t.counters !== null),
          counterColumns(words),
          words,
        ),
      },
    ].filter(({ blocks }) => blocks.length > 0);
    if (parts.length === 0) return [];
    return [heading(2, say.heading), ...parts.flatMap(({ title, blocks }) => [heading(3, title), ...blocks])];
  },
};

/** A figure of a trial, as its column shows it; null where the trial does not have it. */
interface Column {
  readonly title: string;
  readonly text?: true;
  cell(trial: TrialInfo): string | null;
}

/** A row a trial. Columns without any figure are left out, and the table where that leaves none. */
function table(caption: string, trials: readonly TrialInfo[], columns: readonly Column[], words: Messages): Block[] {
  const told = columns.filter(({ cell }) => trials.some((trial) => cell(trial) !== null));
  if (told.length === 0) return [];
  const shown: Table = {
    kind: 'table',
    caption,
    columns: [
      { title: words.columns.configuration },
      { title: words.columns.workload },
      { title: words.columns.trial, numeric: true },
      ...told.map(({ title, text }) => ({ title, ...(text ? {} : { numeric: true }) })),
    ],
    rows: trials.map((trial) => [
      trial.label,
      trial.workload,
      String(trial.id),
      ...told.map(({ cell }) => cell(trial) ?? words.none),
    ]),
  };
  return [shown];
}

/** Of each configuration and workload the first trial that has the figures, a good one if there is any. */
function firstOfEach({ trials }: ReportInfo, has: (trial: TrialInfo) => boolean): readonly TrialInfo[] {
  const chosen = new Map<string, TrialInfo>();
  for (const trial of trials.filter(has)) {
    const key = `${configurationKey(trial.configuration)} ${trial.workload}`;
    const before = chosen.get(key);
    if (!before || (before.fate !== 'measured' && trial.fate === 'measured')) chosen.set(key, trial);
  }
  return [...chosen.values()];
}

function ceilingBlocks(info: ReportInfo, words: Messages): Block[] {
  const say = words.engines;
  const { locale } = words;
  const trials = firstOfEach(info, (t) => t.ceiling !== null);
  const count = (n: number): string => formatNumber(n, locale);
  const columns: Column[] = [
    { title: say.measuredThroughput, cell: ({ totalTokenThroughput }) => told(totalTokenThroughput, count) },
    { title: say.ceilingThroughput, cell: ({ ceiling }) => told(ceiling?.totalTokensPerS, count) },
    {
      title: say.ceilingShare,
      cell: ({ ceiling, totalTokenThroughput: total }) =>
        ceiling === null || total === null ? null : formatShare(total / ceiling.totalTokensPerS, locale),
    },
    { title: say.bound, text: true, cell: ({ ceiling }) => told(ceiling?.bound, (bound) => say.bounds[bound]) },
  ];
  return table(say.ceilingCaption(trials[0]?.ceiling?.hardware ?? ''), trials, columns, words);
}

function gpuColumns(words: Messages): readonly Column[] {
  const say = words.engines;
  const { locale } = words;
  return [
    { title: say.meanPower, cell: ({ gpu }) => told(gpu?.meanPowerW, (w) => formatNumber(w, locale)) },
    { title: say.peakPower, cell: ({ gpu }) => told(gpu?.peakPowerW, (w) => formatNumber(w, locale)) },
    {
      title: say.energyPerToken,
      cell: ({ gpu }) => told(gpu?.energyPerOutputTokenJ, (j) => formatQuantity(j, locale)),
    },
    { title: say.peakMemory, cell: ({ gpu }) => told(gpu?.peakMemoryMiB, (mib) => formatBytes(mib * 2 ** 20, locale)) },
    { title: say.utilization, cell: ({ gpu }) => told(gpu?.meanUtilization, (share) => formatShare(share, locale, 0)) },
    { title: say.throttled, text: true, cell: ({ gpu }) => told(gpu?.throttled, (all) => throttledText(all, words)) },
  ];
}

/** An idle GPU clocks down; that says nothing of one that was slowed while it worked. */
function throttledText(throttled: Readonly<Partial<Record<string, number>>>, words: Messages): string {
  const reasons = Object.entries(throttled).filter(([name, share = 0]) => name !== 'gpu_idle' && share > 0);
  if (reasons.length === 0) return words.engines.notThrottled;
  return reasons
    .sort(([, a = 0], [, b = 0]) => b - a)
    .map(([name, share = 0]) => words.engines.throttleReason(name, formatShare(share, words.locale, 0)))
    .join(', ');
}

/** The usual two parts of any start say no more than its duration. */
const usualParts: readonly string[] = ['starting', 'first token'];

function startBlocks({ trials }: ReportInfo, words: Messages): Block[] {
  const say = words.engines;
  const starts = trials.filter((t) => !t.attached && t.times.startS !== undefined);
  const isTold = ({ times: { parts = {}, compileCache } }: TrialInfo): boolean =>
    compileCache !== undefined || Object.keys(parts).some((name) => !usualParts.includes(name));
  if (!starts.some(isTold)) return [];
  const duration = (seconds: number): string => formatDuration(seconds, words.locale);
  const columns: Column[] = [
    { title: say.startTotal, cell: ({ times }) => told(times.startS, duration) },
    ...(Object.keys(say.parts) as StartPartName[]).map((name) => ({
      title: say.parts[name],
      cell: ({ times }: TrialInfo) => told(times.parts?.[name], duration),
    })),
    {
      title: say.compileCache,
      text: true,
      cell: ({ times }) => told(times.compileCache, (cache) => say.caches[cache]),
    },
  ];
  const warm = starts.some(({ times }) => times.compileCache === 'warm');
  return [...table(say.startCaption, starts, columns, words), ...(warm ? [paragraph(muted(say.cacheNote))] : [])];
}

function counterColumns(words: Messages): readonly Column[] {
  const say = words.engines;
  const count = (n: number): string => formatNumber(n, words.locale);
  const share = (value: number): string => formatShare(value, words.locale);
  return [
    { title: say.peakRunning, cell: ({ counters }) => told(counters?.peakRunning, count) },
    { title: say.peakWaiting, cell: ({ counters }) => told(counters?.peakWaiting, count) },
    { title: say.kvUse, cell: ({ counters }) => told(counters?.peakKvUseShare, share) },
    { title: say.prefixHits, cell: ({ counters }) => told(counters?.prefixHitRate, share) },
    { title: say.preemptions, cell: ({ counters }) => told(counters?.preemptions, count) },
    { title: say.draftAcceptance, cell: ({ counters }) => told(counters?.draftAcceptance, share) },
  ];
}

const told = <T>(value: T | null | undefined, text: (value: T) => string): string | null =>
  value === null || value === undefined ? null : text(value);
