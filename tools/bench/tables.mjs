// Figures as Markdown.

const none = '–';
export const ms = (s) => (s === null ? none : (s * 1000).toFixed(1));
export const signedMs = (s) => (s === null ? none : `${s < 0 ? '' : '+'}${(s * 1000).toFixed(1)}`);
export const cpu = (s) => (s === null ? none : s.toFixed(2));
const whole = (value) => (value === null ? none : Math.round(value).toLocaleString('en-US'));
const facing = (own, server, difference) =>
  own === null ? none : `${ms(own)} / ${ms(server)} (${signedMs(difference)})`;
const judged = (verdicts) =>
  Object.entries(verdicts)
    .map(([word, times]) => `${word === 'none' ? none : word}${Object.keys(verdicts).length > 1 ? ` x ${times}` : ''}`)
    .join(', ');

/** The tables of all scenarios that were measured. */
export function clientTables({ summary, scenarios, clients, starts }) {
  const of = (wanted) =>
    scenarios
      .filter(wanted)
      .flatMap((scenario) =>
        summary.filter((line) => line.scenario === scenario.name).map((line) => ({ scenario, line })),
      );
  const paced = of(({ itlMs }) => itlMs > 0).map(({ scenario, line }) => [
    scenario.requests,
    line.client,
    facing(line.ttftMeanS, line.serverTtftMeanS, line.ttftErrorS),
    facing(line.itlP99S, line.serverItlP99S, line.itlErrorS),
    cpu(line.cpuSPer100kChunks),
    judged(line.verdicts),
  ]);
  const unpaced = of(({ itlMs }) => itlMs === 0).map(({ scenario, line }) => [
    scenario.eventsPerWrite,
    line.client,
    whole(line.chunksPerS),
    whole(line.chunksPerCpuS),
    cpu(line.cpuSPer100kChunks),
    cpu(line.serverCpuSPer100kChunks),
    judged(line.verdicts),
  ]);
  const ttft = 'TTFT mean: client / server (difference), ms';
  const itl = 'ITL p99: client / server (difference), ms';
  return [
    ...(paced.length > 0
      ? [table(['streams', 'client', ttft, itl, 'client CPU, s per 100k chunks', 'client’s verdict'], paced)]
      : []),
    ...(unpaced.length > 0
      ? [
          table(
            [
              'events a write',
              'client',
              'chunks/s',
              'chunks per CPU second of the client',
              'client CPU, s per 100k chunks',
              'server CPU, s per 100k chunks',
              'client’s verdict',
            ],
            unpaced,
          ),
        ]
      : []),
    table(
      ['client', 'version', 'CPU before the first request, s: of 1 / of the most'],
      clients.map(({ name, version }) => {
        const { oneS, mostS } = starts.find(({ client }) => client === name);
        return [name, version, `${cpu(oneS)} / ${cpu(mostS)}`];
      }),
    ),
  ].join('\n\n');
}

/** A table whose columns line up in the source too; the first column of text and all after it are left-aligned. */
export function table(head, rows) {
  const lines = [head, ...rows].map((cells) => cells.map(String));
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column].length)));
  const row = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const [first, ...rest] = lines.map(row);
  return [first, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rest].join('\n');
}
