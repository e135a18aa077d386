import { tinyModelName } from '../../engines/embedded/model/tiny-model.ts';
import type { Messages } from '../../i18n/messages.ts';
import { formatBytes, formatDuration, formatMoment, formatNumber, formatShare } from '../../kit/words.ts';
import { nominalLengths } from '../../records/dataset-options.ts';
import type { Workload } from '../../records/workload.ts';
import { type Block, code, command, heading, muted, paragraph, type Table, type Text } from '../document.ts';
import { commandText } from '../figures.ts';
import { allAttached, type ReportInfo } from '../info.ts';
import type { Section } from '../section.ts';

/** Model, machine, versions, workloads and time: what a repetition needs, and what an explanation of the numbers needs. */
export const setup: Section = {
  name: 'setup',
  figures: false,

  render(info, words) {
    const say = words.setup;
    const { machine, time } = info;
    const count = (n: number): string => formatNumber(n, words.locale);
    const duration = (s: number): string => formatDuration(s, words.locale);
    return [
      heading(2, say.heading),
      heading(3, say.model),
      paragraph(code(info.model)),
      ...(info.model === tinyModelName ? [paragraph(say.tinyModel)] : []),
      ...weightsTable(info, words),
      heading(3, say.hardware),
      properties(words, say.hardwareCaption, [
        ...machine.gpus.map((gpu): [string, Text] => [say.gpu, gpu]),
        // Nothing else of the machine goes into a simulation.
        ...(info.simulated
          ? []
          : ([
              [say.cpu, machine.cpu],
              [say.cores, count(machine.cores)],
              [say.memory, formatBytes(machine.memoryBytes, words.locale)],
              [say.system, machine.os],
            ] satisfies [string, Text][])),
      ]),
      heading(3, say.versions),
      properties(words, say.versionsCaption, [
        ...info.engines.map((engine): [string, Text] => [say.engine, engineText(engine, words)]),
        ['servetune', info.servetuneVersion],
        ['Node.js', machine.node],
      ]),
      heading(3, say.workloads),
      workloadTable(info, words),
      ...measuredNote(info, words),
      ...commands(info, words),
      heading(3, say.time),
      properties(words, info.simulated ? `${say.timeCaption} (${words.simulated.mark})` : say.timeCaption, [
        ...(info.simulated ? [] : [[say.began, formatMoment(time.beganAt, words.locale)] satisfies [string, Text]]),
        [say.took, duration(time.totalS)],
        ...(allAttached(info)
          ? []
          : ([
              [say.starts, count(time.engineStarts)],
              [say.starting, duration(time.startS)],
            ] satisfies [string, Text][])),
        ...(time.waitS > 0 ? [[say.waiting, duration(time.waitS)] satisfies [string, Text]] : []),
        [say.warming, duration(time.warmupS)],
        [say.loading, duration(time.loadS)],
      ]),
    ];
  },
};

/** `embedded@3.21.1 (llama.cpp …)`: an engine whose name does not say what it is. */
function engineText(label: string, { setup: { engineNotes } }: Messages): string {
  const note = engineNotes[label.split('@')[0] ?? ''];
  return note === undefined ? label : `${label} (${note})`;
}

const properties = (words: Messages, caption: string, rows: readonly [string, Text][]): Table => ({
  kind: 'table',
  caption,
  columns: [{ title: words.columns.property }, { title: words.columns.value }],
  rows,
});

/** A name on a hub may stand for other weights tomorrow: only the commit says which they were. */
function weightsTable({ weights }: ReportInfo, words: Messages): Table[] {
  const say = words.setup;
  if (weights.length === 0) return [];
  return [
    {
      kind: 'table',
      caption: say.weightsCaption,
      columns: [{ title: say.weights }, { title: say.revision }, { title: say.size, numeric: true }],
      rows: weights.map(({ name, commit, bytes }) => [
        [code(name)],
        commit === null ? say.localFiles : [code(commit)],
        formatBytes(bytes, words.locale),
      ]),
    },
  ];
}

function workloadTable(info: ReportInfo, words: Messages): Table {
  const say = words.setup;
  const count = (n: number): string => formatNumber(n, words.locale);
  const length = (mean: number, spread: number): string =>
    spread > 0 ? say.spread(count(mean), formatShare(spread, words.locale, 0)) : count(mean);
  const tokens = (mean: number): string => formatNumber(mean, words.locale, Number.isInteger(mean) ? 0 : 1);
  const measured = showsMeasured(info);
  const row = (w: Workload, inputTokensMeasured: number | null): Text[] => {
    const asked = nominalLengths(w);
    const input = asked.input === null ? words.none : length(asked.input - asked.prefix, asked.inputSpread);
    return [
      w.name,
      w.dataset_name,
      asked.prefix > 0 ? say.sharedPrefix(input, count(asked.prefix)) : input,
      ...(measured ? [inputTokensMeasured === null ? words.none : tokens(inputTokensMeasured)] : []),
      asked.output === null ? words.none : length(asked.output, asked.outputSpread),
      w.min_duration_s > 0
        ? say.requestsOrLonger(count(w.num_prompts), formatDuration(w.min_duration_s, words.locale))
        : count(w.num_prompts),
      w.request_rate === 'inf' ? say.unlimited : String(w.request_rate),
      w.max_concurrency === undefined ? say.unlimited : count(w.max_concurrency),
      String(w.seed),
    ];
  };
  return {
    kind: 'table',
    caption: say.workloadsCaption,
    columns: [
      { title: words.columns.workload },
      { title: say.dataset },
      ...[
        say.inputTokens,
        ...(measured ? [say.inputTokensMeasured] : []),
        ...[say.outputTokens, say.requests, say.rate, say.concurrency, say.seed],
      ].map((title) => ({ title, numeric: true })),
    ],
    rows: info.workloads.map((w) => row(w.options, w.inputTokensMeasured)),
  };
}

/** Nothing is measured in a simulation, and this part of the report is not marked as one. */
const showsMeasured = ({ workloads, simulated }: ReportInfo): boolean =>
  !simulated && workloads.some((w) => w.inputTokensMeasured !== null);

function measuredNote(info: ReportInfo, { setup: say }: Messages): Block[] {
  if (!showsMeasured(info)) return [];
  const chat = info.workloads.some(({ options }) => options.backend === 'openai-chat');
  return [paragraph(muted(chat ? say.measuredWithTemplate : say.measuredByServer))];
}

function commands({ workloads }: ReportInfo, words: Messages): Block[] {
  const known = workloads.flatMap(({ options, loadCommand }) =>
    loadCommand ? [{ name: options.name, loadCommand }] : [],
  );
  if (known.length === 0) return [];
  return [
    paragraph(`${words.setup.commands}:`),
    command(known.map(({ name, loadCommand }) => `# ${name}\n${commandText(loadCommand)}`).join('\n\n')),
  ];
}
