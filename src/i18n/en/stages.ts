import { formatNumber } from '../../kit/words.ts';
import type { StagesMessages } from '../messages/stages.ts';
import { locale } from './numbers.ts';

export const stages: StagesMessages = {
  heading: 'Results by stage',
  nothing: 'No trial has run.',
  baseline: 'Baseline',
  stage: (number, name) => `${formatNumber(number, locale)}. ${name}`,
  incumbent: (label) => `Starts from ${label}.`,
  servingCommand: 'Serving command:',
  tableCaption: (stage, noise) =>
    `Configurations of stage ${stage}, as it was decided, by the noise known then (${noise})`,
  runsOf: (counted, all) => `${formatNumber(counted, locale)} of ${formatNumber(all, locale)}`,
  againstIncumbent: 'Against the stage input',
  incumbentMark: 'stage input',
  result: (ranking) => `Result: ${ranking}`,
  tiedLegend: '≈ stands between neighbours that noise does not tell apart.',
  chosen: (label) => `Chosen: ${label}.`,
  better: (label, change, interval) => `Chosen: ${label}, ${change} (95 % interval ${interval}).`,
  laterCovered: (label, change, noise, interval) =>
    `At the noise that the whole run showed (${noise}), the difference of ${label} from the stage input (${change}) would not be significant (${interval}).`,
  laterClear: (label, change, noise, interval) =>
    `At the noise that the whole run showed (${noise}), the difference of ${label} from the stage input (${change}) would be significant (${interval}).`,
  noDifference: 'No significant difference: the stage input stays.',
  worse: 'Every alternative is significantly worse: the stage input stays.',
  noneQualified: 'No alternative qualified: the stage input stays.',
  notTried: 'The budget ended before an alternative was tried: the stage input stays.',
  nothingToTry: 'No alternative differs from the stage input.',
  pending: 'Not decided yet.',
  others: 'Other trials',
};
