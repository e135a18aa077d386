import type { Messages } from '../i18n/messages.ts';
import { shellCommand, shellQuote } from '../kit/shell.ts';
import { capitalised, formatChange, formatQuantity } from '../kit/words.ts';
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

/** The head of a column of the objective's values. */
export const objectiveColumn = ({ objective }: ReportInfo, words: Messages): string =>
  `${capitalised(words.metrics[objective.metric], words.locale)}, ${objective.unit}`;

/** `3, 7 and 9`, up to a number that still helps. */
export function idList(ids: readonly number[], words: Messages): string {
  const shown = ids.slice(0, 12).map(String);
  if (ids.length > shown.length) return `${shown.join(', ')}, … (${ids.length})`;
  return new Intl.ListFormat(words.locale, { type: 'conjunction' }).format(shown);
}
