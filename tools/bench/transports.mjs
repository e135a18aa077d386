// Compares ways to read many streams in Node, with the same small work on each piece, against the paced server:
//   npm run build && node tools/bench/transports.mjs [--repeats 5] [--streams 1000] [--quick] [--undici FOLDER]
//                                                    [--json FILE] [--doc FILE]
// `--quick` is one repeat of 256 streams and writes into no page unless `--doc` names one.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { load, machineFacts, notQuiet, quietCores } from './machine.mjs';
import { tokens } from './scenarios.mjs';
import { writeSection } from './section.mjs';
import { startServer } from './server.mjs';
import { median } from './summary.mjs';
import { cpu, ms, signedMs, table } from './tables.mjs';
import { transports } from './transports/table.mjs';

const say = (text) => process.stderr.write(`${text}\n`);
const reader = fileURLToPath(new URL('transports/reader.mjs', import.meta.url));
const longestRunMs = 300_000;
const pacing = { tokens, ttftMs: 200, itlMs: 20, eventsPerWrite: 1 };

const { values: flags } = parseArgs({
  options: {
    repeats: { type: 'string' },
    streams: { type: 'string' },
    quick: { type: 'boolean', default: false },
    undici: { type: 'string' },
    json: { type: 'string' },
    doc: { type: 'string' },
  },
});
const repeats = Number(flags.repeats ?? (flags.quick ? 1 : 5));
const streams = Number(flags.streams ?? (flags.quick ? 256 : 1000));
const isWhole = !flags.quick && flags.streams === undefined;
const doc = flags.doc ?? (isWhole ? 'docs/performance.md' : undefined);

/** The transports that are here; says of the others how to get them. */
const installed = () =>
  transports.flatMap((transport) => {
    if (!transport.find) return [{ ...transport, label: transport.name }];
    const version = transport.find(flags.undici);
    if (version === undefined) say(`${transport.name} is left out, it is not installed: ${transport.install}`);
    return version === undefined ? [] : [{ ...transport, label: `${transport.name} ${version}` }];
  });

/** Every transport in every repeat, each repeat beginning with another one. */
async function measureAll(chosen) {
  const server = await startServer(pacing);
  const runs = [];
  try {
    const model = await server.model();
    for (let repeat = 0; repeat < repeats; repeat++) {
      for (let turn = 0; turn < chosen.length; turn++) {
        const { name } = chosen[(turn + repeat) % chosen.length];
        const given = { name, url: server.url, streams, tokens, model, folder: flags.undici };
        const command = [reader, JSON.stringify(given)];
        const { stdout } = await promisify(execFile)(process.execPath, command, { timeout: longestRunMs });
        const run = { name, ...JSON.parse(stdout) };
        runs.push(run);
        const { cpuS, ttftMeanS, reads } = run;
        say(`${repeat + 1}/${repeats} ${name}: CPU ${cpuS.toFixed(2)} s, TTFT ${ms(ttftMeanS)} ms, ${reads} reads`);
      }
    }
  } finally {
    await server.stop();
  }
  return runs;
}

/** Medians over the repeats, a row a transport. */
function rowOf({ name, label }, runs) {
  const mine = runs.filter((run) => run.name === name);
  const of = (figure) => median(mine.map(figure));
  const facing = (own, server) =>
    `${ms(of(own))} / ${ms(of(server))} (${signedMs(of((run) => own(run) - server(run)))})`;
  const chunks = streams * tokens;
  return [
    label,
    cpu(of(({ cpuS }) => (cpuS / chunks) * 1e5)),
    facing(
      (run) => run.ttftMeanS,
      (run) => run.server.ttft.meanS,
    ),
    facing(
      (run) => run.itlP99S,
      (run) => run.server.itl.p99S,
    ),
    of(({ reads }) => chunks / reads).toFixed(2),
  ];
}

const head = [
  'transport',
  'CPU, s per 100k chunks',
  'TTFT mean: client / server (difference), ms',
  'ITL p99: client / server (difference), ms',
  'events a read',
];

async function main() {
  const chosen = installed();
  const before = load();
  if (before > quietCores) say(`warning: the load average is ${before.toFixed(2)}; the machine should be idle`);
  const runs = await measureAll(chosen);
  const machine = machineFacts();
  const text = [
    `${streams} streams at once, TTFT ${pacing.ttftMs} ms, ${pacing.itlMs} ms a token, ${tokens} tokens each. ` +
      `${machine.cpu}, ${machine.cores} cores, ${machine.os}, Node ${machine.node}; load average ` +
      `${before.toFixed(2)} before, ${load().toFixed(2)} after. ${new Date().toISOString().slice(0, 10)}, ` +
      `${repeats === 1 ? 'one run each' : `medians of ${repeats} interleaved runs`}.`,
    ...(before > quietCores ? [notQuiet] : []),
    table(
      head,
      chosen.map((transport) => rowOf(transport, runs)),
    ),
  ].join('\n\n');
  process.stdout.write(`${text}\n`);
  if (doc) writeSection(doc, 'transports', text);
  if (flags.json) writeFileSync(flags.json, `${JSON.stringify({ machine, streams, tokens, pacing, runs }, null, 2)}\n`);
}

try {
  await main();
} catch (error) {
  say(error.stderr || error.message);
  process.exitCode = 1;
}
