import type { Messages } from '../i18n/messages.ts';
import { capitalised, formatDuration } from '../kit/words.ts';
import type { ChangedSetting } from '../records/trial.ts';
import { type Block, code, type Inline, muted, paragraph, plainText, strong } from './document.ts';
import { fateText, quantity } from './figures.ts';
import type { ReportInfo, TrialInfo } from './info.ts';

/** Lines of a log that still help; the whole of it lies beside the run. */
const mostLogLines = 30;

/** One trial: its result block folded away under a line of figures, or why it has none. */
export function trialBlocks(info: ReportInfo, trial: TrialInfo, words: Messages): Block[] {
  const say = words.trial;
  const blocks: Block[] = [];
  if (trial.fate !== 'measured') blocks.push(failureOf(trial, words));
  if (trial.excluded) {
    blocks.push({
      kind: 'callout',
      tone: 'warning',
      blocks: [paragraph(strong(say.name(trial.id)), ': ', say.excluded(trial.excluded))],
    });
  }
  if (trial.block !== null) {
    blocks.push({
      kind: 'details',
      summary: trial.fate === 'measured' ? summaryOf(info, trial, words) : [muted(say.refusedBlock(trial.id))],
      blocks: [...timesOf(trial, words), { kind: 'code', language: 'text', text: trial.block }],
    });
  }
  return blocks;
}

function summaryOf({ objective, simulated }: ReportInfo, trial: TrialInfo, words: Messages): Inline[] {
  const say = words.trial;
  const ms = (value: number | null): string => quantity(value, 'ms', words);
  const also = [
    ...(simulated ? [words.simulated.mark] : []),
    words.purposes[trial.purpose],
    ...(objective.metric === 'mean_ttft_ms' ? [] : [say.meanTtft(ms(trial.meanTtftMs))]),
    ...(objective.metric === 'mean_tpot_ms' ? [] : [say.meanTpot(ms(trial.meanTpotMs))]),
  ];
  return [
    say.name(trial.id),
    ': ',
    strong(quantity(trial.value, objective.unit, words)),
    muted(`, ${also.join(', ')}`),
  ];
}

function timesOf({ attached, times: { startS, warmupS, loadS } }: TrialInfo, words: Messages): Block[] {
  const say = words.trial;
  const seconds = (value: number): string => formatDuration(value, words.locale);
  const parts = [
    ...(startS === undefined ? [] : [(attached ? say.found : say.started)(seconds(startS))]),
    ...(warmupS === undefined ? [] : [say.warmed(seconds(warmupS))]),
    ...(loadS === undefined ? [] : [say.loaded(seconds(loadS))]),
  ];
  return parts.length === 0 ? [] : [paragraph(muted(capitalised(`${parts.join(', ')}.`, words.locale)))];
}

function failureOf({ id, fate, attached, failure, client }: TrialInfo, words: Messages): Block {
  const say = words.trial;
  const lines = (failure?.logTail ?? []).slice(-mostLogLines);
  const head: Inline[] = [strong(say.failed(id, fateText(fate, attached, words)))];
  const why = failure?.message ?? client?.reason;
  // What is refused here is told in a sentence of our own making; an engine's words stay as they are.
  if (why) head.push(` ${fate === 'invalid_measurement' ? `${capitalised(why, words.locale)}.` : why}`);
  return {
    kind: 'callout',
    tone: 'warning',
    blocks: [
      paragraph(...head),
      ...(failure && failure.changed.length > 0 ? [paragraph(say.changed(changesText(failure.changed, words)))] : []),
      ...(failure?.hint ? [paragraph(say.hint(failure.hint))] : []),
      ...(failure && failure.fragment.length > 1
        ? [
            paragraph(muted(`${say.fragment}:`)),
            { kind: 'code', language: 'text', text: failure.fragment.join('\n') } as const,
          ]
        : []),
      ...(lines.length > 0
        ? [
            {
              kind: 'details',
              summary: say.logTail(lines.length),
              blocks: [{ kind: 'code', language: 'text', text: lines.join('\n') }],
            } as const,
          ]
        : []),
    ],
  };
}

const changesText = (changed: readonly ChangedSetting[], words: Messages): string => {
  const value = (of: ChangedSetting['from']): string => (of === null ? words.trial.default : String(of));
  return changed.map(({ name, from, to }) => words.trial.changedSetting(name, value(from), value(to))).join(', ');
};

/** What the engine itself says of its settings, once for a configuration. */
export function effectiveSettings(trials: readonly TrialInfo[], words: Messages): Block[] {
  const told = trials.find((t) => t.effectiveSettings && Object.keys(t.effectiveSettings).length > 0);
  if (!told?.effectiveSettings) return [];
  return [
    {
      kind: 'details',
      summary: words.trial.effective(told.id),
      blocks: [
        {
          kind: 'table',
          caption: words.trial.effectiveCaption,
          columns: [{ title: words.trial.setting }, { title: words.columns.value }],
          rows: Object.entries(told.effectiveSettings).map(([name, value]) => [[code(name)], plainText(value)]),
        },
      ],
    },
  ];
}
