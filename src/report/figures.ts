import type { Messages } from '../i18n/messages.ts';
import { shellCommand, shellQuote } from '../kit/shell.ts';
import { capitalised, formatChange, formatList, formatQuantity } from '../kit/words.ts';
import type { Fate } from '../records/trial.ts';
import type { Inline, Text, Tone } from './document.ts';
import type { Change, ReportInfo } from './info.ts';

/** `10,426 tok/s`, or what is said of nothing. */
export const quantity = (value: number | null, unit: string, words: Messages): string =>
  value === null ? words.conclusion.notMeasured : `${formatQuantity(value, words.locale)} ${unit}`;

/** A cell of a column whose head names the unit. */
export const bare = (value: number | null, words: Messages): string =>
  value === null ? words.none : formatQuantity(value, words.locale);

export const toneOf = (change: Change): Tone =>
  change.verdict === 'better' ? 'good' : change.verdict === 'worse' ? 'bad' : 'neutral';

export const changeText = (change: Change, words: Messages): string => formatChange(change.ratio, words.locale);

export const intervalText = ({ low, high }: Change, words: Messages): string =>
  words.interval(formatChange(low, words.locale), formatChange(high, words.locale));

/** The change with its verdict, for a cell. */
export function changeCell(change: Change | null, words: Messages): Text {
  if (!change) return words.none;
  const text: Inline = { kind: 'tone', tone: toneOf(change), text: changeText(change, words) };
  return change.verdict === 'no_significant_difference'
    ? [text, { kind: 'muted', text: ` (${words.notSignificant})` }]
    : [text];
}

export const intervalCell = (change: Change | null, words: Messages): Text =>
  change ? intervalText(change, words) : words.none;

/**
 * A command line to paste. Home folders were replaced by `~`, which a shell expands only bare and in front; elsewhere
 * in an argument it is written as "$HOME".
 */
export function commandText(argv: readonly string[]): string {
  return argv
    .map((argument, i) => {
      if (/^~(?=\/|$)/.test(argument)) return `~${argument.length > 1 ? shellQuote(argument.slice(1)) : ''}`;
      const inside = /^(.*[=:,])~(\/.*|)$/s.exec(argument);
      if (inside) return `${shellQuote(inside[1] ?? '')}"$HOME"${inside[2] ? shellQuote(inside[2]) : ''}`;
      return i === 0 ? shellCommand([argument]) : shellQuote(argument);
    })
    .join(' ');
}

/** How a trial ended; of a server that servetune does not start nothing is said of a start. */
export const fateText = (fate: Fate, attached: boolean, words: Messages): string =>
  attached && fate === 'start_failed' ? words.trial.notServing : words.fates[fate];

/** The head of a column of the objective's values. */
export const objectiveColumn = ({ objective }: ReportInfo, words: Messages): string =>
  `${capitalised(words.metrics[objective.metric], words.locale)}, ${objective.unit}`;

/** What a configuration is called within its stage. */
export const labelText = (label: string | null, words: Messages): string => label ?? words.unchanged;

/** `1 to 6, 9, and 12`; past a number that still helps only how many more there are. */
export function idList(ids: readonly number[], words: Messages): string {
  const runs: number[][] = [];
  for (const id of ids) {
    const last = runs.at(-1);
    if (last && id === (last.at(-1) ?? 0) + 1) last.push(id);
    else runs.push([id]);
  }
  // Two neighbours are two numbers, not a range.
  const parts = runs.flatMap((run) => (run.length > 2 ? [run] : run.map((id) => [id])));
  const shown = parts.slice(0, parts.length > mostParts ? mostParts - 1 : mostParts);
  const left = ids.length - shown.flat().length;
  const texts = shown.map((run) => {
    const [first, last] = [String(run[0]), String(run.at(-1))];
    return run.length > 1 ? words.range(first, last) : first;
  });
  return formatList(left > 0 ? [...texts, words.more(left)] : texts, words.locale);
}
const mostParts = 12;
