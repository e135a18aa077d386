import type { Messages } from '../../i18n/messages.ts';
import { formatDuration, formatQuantity, formatShare } from '../../kit/words.ts';
import { type Block, heading, paragraph, type Table } from '../document.ts';
import { changeText, fateText, idList, quantity } from '../figures.ts';
import {
  allAttached,
  type Extreme,
  isAttached,
  type Quality,
  type Recheck,
  type ReportInfo,
  trialsOf,
} from '../info.ts';
import type { Section } from '../section.ts';
import { trialBlocks } from '../trial-blocks.ts';

/** How far the numbers can be trusted: noise, drift, confirmation, the client, failures. */
export const quality: Section = {
  name: 'quality',
  figures: true,

  render(info, words) {
    const say = words.quality;
    return [
      heading(2, say.heading),
      heading(3, say.noise),
      ...noiseBlocks(info, words),
      heading(3, say.drift),
      paragraph(driftSentence(info, words)),
      ...ofPurpose(info, 'baseline_again', words),
      heading(3, say.confirmation),
      paragraph(confirmationSentence(info, words)),
      ...stressBlocks(info, words),
      ...ofPurpose(info, 'confirmation', words),
      heading(3, say.client),
      ...clientBlocks(info.quality.client, words),
      heading(3, say.work),
      paragraph(...workSentences(info.quality, words)),
      heading(3, say.failures),
      ...failureBlocks(info, words),
      heading(3, say.warnings),
      warningBlock(info.quality, words),
    ];
  },
};

const ofPurpose = (info: ReportInfo, purpose: 'baseline_again' | 'confirmation', words: Messages): Block[] =>
  info.trials.filter((t) => t.purpose === purpose).flatMap((trial) => trialBlocks(info, trial, words));

function noiseBlocks(info: ReportInfo, words: Messages): Block[] {
  const { quality, results } = info;
  const { noise, repeated } = quality;
  const say = words.quality;
  const sd = formatShare(noise.sd, words.locale);
  const sentence = noise.repeats > 0 ? say.noiseMeasured(sd, noise.repeats, noise.priorRepeats) : say.noiseAssumed(sd);
  return [
    paragraph(sentence, ...(results.length > 1 ? [` ${say.noiseFurther}`] : [])),
    repeated.length === 0 ? paragraph(say.noneRepeated) : repeatedTable(info, words),
  ];
}

function repeatedTable(info: ReportInfo, words: Messages): Table {
  const { repeated } = info.quality;
  return {
    kind: 'table',
    caption: allAttached(info) ? words.quality.repeatedAttached : words.quality.repeatedCaption,
    columns: [
      { title: words.columns.configuration },
      { title: words.columns.workload },
      { title: words.columns.trials },
      { title: `${words.quality.values}, ${info.objective.unit}`, numeric: true },
      { title: words.quality.spread, numeric: true },
    ],
    rows: repeated.map(({ label, workload, values, trialIds }) => [
      label,
      workload,
      trialIds.join(', '),
      values.map((value) => formatQuantity(value, words.locale)).join(' · '),
      formatShare(Math.max(...values) / Math.min(...values) - 1, words.locale),
    ]),
  };
}

function driftSentence({ quality: { drift }, objective }: ReportInfo, words: Messages): string {
  const say = words.quality;
  if (!drift?.change) return say.driftUnknown;
  const { change, against, value } = drift;
  const sentence = change.verdict === 'no_significant_difference' ? say.driftSmall : say.driftLarge;
  return sentence(
    quantity(against, objective.unit, words),
    quantity(value, objective.unit, words),
    changeText(change, words),
  );
}

function confirmationSentence({ quality: { confirmation }, objective, winner }: ReportInfo, words: Messages): string {
  const say = words.quality;
  if (!confirmation) return say.confirmationMissing;
  const { value, against, change }: Recheck = confirmation;
  if (!change) return say.confirmationFailed;
  const [held, failed] = isAttached(winner.configuration)
    ? [say.confirmedAttached, say.notConfirmedAttached]
    : [say.confirmed, say.notConfirmed];
  const sentence = change.verdict === 'no_significant_difference' ? held : failed;
  return sentence(
    quantity(value, objective.unit, words),
    changeText(change, words),
    quantity(against, objective.unit, words),
  );
}

/** What the winner was sent after its confirmation. */
function stressBlocks({ trials }: ReportInfo, words: Messages): Block[] {
  return trials.flatMap(({ stress }) => {
    if (!stress) return [];
    const { requests, promptTokens, outputTokens, failed } = stress;
    const duration = formatDuration(stress.durationS, words.locale);
    const burst = words.quality.burst(requests, promptTokens, outputTokens);
    return paragraph(
      failed === 0 ? words.quality.stressed(burst, duration) : words.quality.stressedFailed(burst, duration, failed),
    );
  });
}

function clientBlocks(client: Quality['client'], words: Messages): Block[] {
  const say = words.quality;
  if (!client) return [paragraph(say.clientUnknown)];
  const seconds = ({ value }: Extreme): string => formatDuration(value, words.locale);
  const rows: [string, Extreme, string][] = [
    [say.loopDelayP99, client.loopDelayP99S, seconds(client.loopDelayP99S)],
    [say.loopDelayMax, client.loopDelayMaxS, seconds(client.loopDelayMaxS)],
    [say.cpuShare, client.cpuShare, say.cores(formatShare(client.cpuShare.value, words.locale, 0))],
    [say.sendLag, client.sendLagP99S, seconds(client.sendLagP99S)],
  ];
  const { bound } = client;
  const ids = bound.map((b) => b.trialId);
  return [
    paragraph(bound.length > 0 ? say.clientBound(idList(ids, words), ids.length) : say.clientFine),
    ...(bound.length > 0
      ? [{ kind: 'list', items: bound.map((b) => say.clientReason(b.trialId, b.reason)) } as const]
      : []),
    {
      kind: 'table',
      caption: say.clientCaption,
      columns: [
        { title: say.clientFigure },
        { title: say.worst, numeric: true },
        { title: words.columns.trial, numeric: true },
      ],
      rows: rows.map(([title, { trialId }, text]) => [title, text, String(trialId)]),
    },
  ];
}

function workSentences({ requests, outputShare }: Quality, words: Messages): string[] {
  const { asked, ok, failed, notSent } = requests;
  return [
    words.quality.requests(asked, ok, failed, notSent),
    ...(outputShare
      ? [` ${words.quality.outputShare(formatShare(outputShare.value, words.locale), outputShare.trialId)}`]
      : []),
  ];
}

function failureBlocks(info: ReportInfo, words: Messages): Block[] {
  const { failedTrials } = info.quality;
  const say = words.quality;
  if (failedTrials.length === 0) return [paragraph(say.noFailures)];
  return [
    {
      kind: 'table',
      caption: say.failuresCaption,
      columns: [{ title: say.fate }, { title: words.columns.trials }],
      rows: failedTrials.map(({ fate, trialIds }) => [
        fateText(
          fate,
          trialsOf(info, trialIds).every((t) => t.attached),
          words,
        ),
        idList(trialIds, words),
      ]),
    },
  ];
}

function warningBlock({ warnings }: Quality, words: Messages): Block {
  if (warnings.length === 0) return paragraph(words.quality.noWarnings);
  return {
    kind: 'list',
    items: warnings.map(({ text, trialIds }) => words.quality.warning(text, idList(trialIds, words), trialIds.length)),
  };
}
