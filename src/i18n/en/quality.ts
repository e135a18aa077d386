import { formatList, formatNumber, plural } from '../../kit/words.ts';
import type { QualityMessages } from '../messages/quality.ts';
import { count, locale } from './numbers.ts';

export const quality: QualityMessages = {
  heading: 'Measurement quality',
  noise: 'Noise',
  noiseMeasured: (sd, repeats, priorRepeats) =>
    `One measurement scatters by ${sd} (standard deviation). The estimate rests on ${count(repeats, 'repeat', 'repeats')} on the deciding workload, and on a cautious guess that weighs as much as ${formatNumber(priorRepeats, locale)}.`,
  noiseAssumed: (sd) =>
    `Nothing was repeated on the deciding workload, so the scatter of one measurement is not known; every interval assumes ${sd} (standard deviation).`,
  noiseFurther: 'The same scatter is assumed on the further workloads.',
  repeatedCaption: 'Configurations measured more than once, each time from a fresh engine start',
  values: 'Values',
  spread: 'Highest above lowest',
  noneRepeated: 'No configuration was measured more than once.',
  drift: 'Drift',
  driftSmall: (first, last, change) =>
    `The baseline was measured again at the end: ${first} at first, ${last} at last (${change}). Noise covers the difference.`,
  driftLarge: (first, last, change) =>
    `The machine drifted: the baseline gave ${first} at first and ${last} at last (${change}), more than noise explains. Treat differences of that size with care.`,
  driftUnknown: 'The baseline was not measured again at the end, so drift of the machine is not known.',
  confirmation: 'Confirmation',
  confirmed: (value, change, against) =>
    `The recommended command was started once more: ${value}, ${change} against ${against} in the runs by which it was chosen. Noise covers the difference.`,
  notConfirmed: (value, change, against) =>
    `The recommended command was started once more and gave ${value}, ${change} against ${against} in the runs by which it was chosen: more than noise explains.`,
  confirmationFailed: 'The recommended command was started once more, and gave no valid measurement.',
  confirmationMissing: 'No confirmation was measured.',
  client: 'Client',
  clientCaption: 'Worst figures of the load generator over all trials',
  clientFigure: 'Figure',
  worst: 'Worst',
  loopDelayP99: 'Event-loop delay for any reason, P99',
  loopDelayMax: 'Event-loop delay for any reason, longest',
  cpuShare: 'CPU',
  cores: (share) => `${share} of one core`,
  sendLag: 'Send lag, P99',
  clientFine: 'The load generator kept up in every trial.',
  clientBound: (trials, n) =>
    `The load generator did not keep up in ${plural(n, locale, { one: 'trial', other: 'trials' })} ${trials}; ${plural(n, locale, { one: 'its figures do', other: 'their figures do' })} not count.`,
  clientReason: (trial, reason) => `Trial ${formatNumber(trial, locale)}: ${reason}`,
  clientUnknown: 'No trial recorded the state of the load generator.',
  work: 'Work done',
  requests: (asked, ok, failed, notSent) => {
    const parts = [
      `${formatNumber(ok, locale)} succeeded`,
      `${formatNumber(failed, locale)} failed`,
      `${formatNumber(notSent, locale)} ${plural(notSent, locale, { one: 'was', other: 'were' })} not sent`,
    ];
    return `Of ${count(asked, 'request', 'requests')} in all trials with a result, ${formatList(parts, locale)}.`;
  },
  outputShare: (share, trial) => `The least output for what was asked: ${share} of the tokens, in trial ${trial}.`,
  failures: 'Failed trials',
  noFailures: 'No trial failed.',
  failuresCaption: 'Trials without a valid measurement',
  fate: 'What happened',
  warnings: 'Remarks',
  noWarnings: 'No remarks.',
  warning: (text, trials, n) => `${text} (${plural(n, locale, { one: 'trial', other: 'trials' })} ${trials})`,
  repeatedAttached: 'Configurations measured more than once, on the same running server',
  confirmedAttached: (value, change, against) =>
    `The recommended configuration was measured once more: ${value}, ${change} against ${against} in the runs by which it was chosen. Noise covers the difference.`,
  notConfirmedAttached: (value, change, against) =>
    `The recommended configuration was measured once more and gave ${value}, ${change} against ${against} in the runs by which it was chosen: more than noise explains.`,
  burst: (requests, promptTokens, outputTokens) =>
    `${count(requests, 'request', 'requests')} at once, each of ${count(promptTokens, 'prompt token', 'prompt tokens')} for ${count(outputTokens, 'output token', 'output tokens')}`,
  stressed: (burst, duration) =>
    `To see whether it lives through a full batch it was then sent ${burst}. All were answered, in ${duration}.`,
  stressedFailed: (burst, duration, failed) =>
    `To see whether it lives through a full batch it was then sent ${burst}. Of these ${formatNumber(failed, locale)} ${plural(failed, locale, { one: 'was', other: 'were' })} not answered to the end, in ${duration}.`,
};
