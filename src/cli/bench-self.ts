import { z } from 'zod';
import { defaultCacheDir } from '../kit/cache-dir.ts';
import { type ExitCode, exitCodes, messageOf } from '../kit/errors.ts';
import { formatNumber, formatShare } from '../kit/words.ts';
import { keepCeiling } from '../study/kept-ceiling.ts';
import { isServerLate, type PacedPoint, streamPace } from '../study/paced-streams.ts';
import type { Throughput } from '../study/self-load.ts';
import {
  eventsPerWrite,
  fullSizes,
  quickSizes,
  type SelfTest,
  selfTest,
  unpacedStreams,
  unpacedTokens,
} from '../study/self-test.ts';
import { defineCommand } from './command.ts';
import type { Terminal } from './terminal.ts';

export default defineCommand({
  name: 'bench self',
  about: [
    'Runs the load client of `bench serve` against a built-in server of known timing in another process, and tells how',
    'much it can send and read on this machine: requests and tokens a second, and how many paced streams at once it reads',
    'without bending their times. Takes about 40 s. The result is kept in the cache (SERVETUNE_CACHE, else',
    '~/.cache/servetune).',
    '',
    'Other programs can only make the client look slower than it is: run it on a quiet machine. Ends with 3 when the',
    'machine was too busy to tell anything about streams; then nothing is kept.',
  ].join('\n'),
  options: z.strictObject({
    workers: z.int().min(1).max(256).default(1).describe('Threads that send the load'),
    max_streams: z
      .int()
      .min(1)
      .max(65_536)
      .optional()
      .describe('Most paced streams to try; default: 4096, or as many as files may be open'),
    quick: z.boolean().default(false).describe('Measure for 10 s instead of 40; less exact'),
    json: z.boolean().default(false).describe('Print everything that was measured as JSON; times are in seconds'),
  }),
  examples: [
    ['servetune bench self', 'the ceiling of one thread'],
    ['servetune bench self --workers 4 --quick', 'a first look at what four threads can do'],
  ],

  async run({ workers, max_streams: maxStreams, quick, json }, terminal): Promise<ExitCode> {
    const { environment: env, signal } = terminal;
    const found = await selfTest({
      workers,
      sizes: quick ? quickSizes : fullSizes,
      env,
      signal,
      onPhase: (phase) => terminal.status(`measuring this client: ${phase}`),
      ...(maxStreams === undefined ? {} : { maxStreams }),
    });
    terminal.status('');
    const { ceiling } = found;
    const inconclusive = ceiling.trueStreams === 0 && ceiling.limitedBy === 'host';
    if (json) terminal.print(JSON.stringify(found, null, 2));
    else for (const line of selfTestLines(found)) terminal.print(line);
    if (inconclusive) {
      terminal.note('The machine was too busy for its own clock to be trusted: nothing is kept.');
      return exitCodes.invalidMeasurement;
    }
    keep(found, terminal);
    return exitCodes.done;
  },
});

/** A ceiling that cannot be kept is still one that was measured. */
function keep({ ceiling }: SelfTest, { environment, note }: Terminal): void {
  try {
    const path = keepCeiling(defaultCacheDir(environment), ceiling);
    note(path === null ? 'not kept: the ceiling that is kept was measured on a quieter machine' : `kept in ${path}`);
  } catch (error) {
    note(`warning: the result could not be kept: ${messageOf(error)}`);
  }
}

/** What was found, for people: the unpaced loads, the paced streams, and what it comes to. */
export function selfTestLines(found: SelfTest): readonly string[] {
  const { ceiling, requests, events, eventsBatched, points } = found;
  const { cpu, cores, node } = ceiling.machine;
  const unpaced = (what: string, perS: number, unit: string, load: Throughput): readonly string[] => [
    what,
    `${count(perS)} ${unit}/s`,
    load.eventsPerRead === null ? '-' : formatNumber(load.eventsPerRead, 'en', 1),
    ...effort(load),
  ];
  const { ttftS, itlS } = streamPace;
  return [
    `${count(ceiling.workers)} client ${ceiling.workers === 1 ? 'thread' : 'threads'} on ${cpu}, ${count(cores)} cores, Node ${node}`,
    '',
    ...columns([
      [`Unpaced, ${unpacedStreams} in flight`, 'Read', 'Events a read', 'Client CPU', 'Server CPU', 'Loop delay p99'],
      unpaced('answers of 1 token', requests.requestsPerS, 'requests', requests),
      unpaced(`answers of ${unpacedTokens} tokens`, events.eventsPerS, 'tokens', events),
      unpaced(`the same, ${eventsPerWrite} a write`, eventsBatched.eventsPerS, 'tokens', eventsBatched),
    ]),
    '',
    ...columns([
      [
        `Paced, ${ms(ttftS, 0)} + ${ms(itlS, 0)} a token`,
        'TTFT error',
        'ITL error p99',
        'Server late p50, p99',
        'Client CPU',
        'Server CPU',
        'Loop delay p99',
        '',
      ],
      ...points.map((point) => [
        `${count(point.streams)} streams`,
        ms(point.ttftErrorS),
        ms(point.itlErrorS),
        `${ms(point.serverLateP50S)}, ${ms(point.serverLateP99S)}`,
        ...effort(point),
        verdicts[point.verdict],
      ]),
    ]),
    '',
    ...conclusion(found),
  ];
}

const verdicts: Readonly<Record<PacedPoint['verdict'], string>> = {
  true: 'true',
  client_bound: 'client late',
  host_bound: 'machine late',
};

/** The sentences at the end. */
function conclusion({ ceiling, events, points, otherCores }: SelfTest): readonly string[] {
  const { eventsPerS, trueStreams, limitedBy, busy, machine } = ceiling;
  const reads = busy || serverWasSlower(events, ceiling.workers) ? 'reads at least' : 'reads up to';
  const streams =
    trueStreams === 0
      ? `not even ${count(points[0]?.streams ?? 0)} paced streams read true`
      : `${count(trueStreams)} paced ${trueStreams === 1 ? 'stream reads' : 'streams read'} true`;
  return [
    `This client ${reads} ${count(eventsPerS)} tokens/s on this machine; ${streams}.`,
    limitedBy === 'max_streams'
      ? `More than ${count(trueStreams)} ${trueStreams === 1 ? 'stream was' : 'streams were'} not tried.`
      : limitSentence(points.at(-1), limitedBy),
    ...(busy
      ? [
          `Measured on a busy machine: other programs used ${formatNumber(otherCores ?? 0, 'en', 1)} of ${count(machine.cores)} cores, so the true ceiling may be higher.`,
        ]
      : []),
  ];
}

function limitSentence(point: PacedPoint | undefined, limitedBy: 'client' | 'host'): string {
  if (point === undefined) return '';
  const { serverLateP50S, serverLateP99S, ttftErrorS, itlErrorS, failure } = point;
  const read = `times to first token were read ${ms(ttftErrorS)} late on average, and gaps ${ms(itlErrorS)} late (p99)`;
  const at = `At ${count(point.streams)} streams`;
  if (limitedBy === 'client') return `${at} the client was the limit: ${read}.`;
  const why =
    failure ??
    (isServerLate(point)
      ? `the server itself was late by ${ms(serverLateP50S)} (p50) and ${ms(serverLateP99S)} (p99)`
      : `${read}, while the client was kept from running`);
  return `${at} the machine, not the client, was the limit: ${why}.`;
}

/** Whether one server process had less to spare than the client's threads. */
const serverWasSlower = ({ clientCores, serverCores }: Throughput, workers: number): boolean =>
  serverCores > clientCores / workers;

const effort = ({ clientCores, serverCores, loopDelayP99S }: Throughput | PacedPoint): readonly string[] => [
  formatShare(clientCores, 'en', 0),
  formatShare(serverCores, 'en', 0),
  ms(loopDelayP99S),
];

const count = (value: number): string => formatNumber(Math.round(value), 'en');
const ms = (seconds: number | null, digits = 1): string =>
  seconds === null ? '-' : `${formatNumber(seconds * 1000, 'en', digits)} ms`;

/** Rows in columns, the first to the left and the others to the right. */
function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
