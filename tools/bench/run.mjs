// Compares load clients against one server of known timing. `npm run bench` builds first; README.md has the rest.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFlags, usage } from './flags.mjs';
import { load, machineFacts, notQuiet, quietCores } from './machine.mjs';
import { endPrograms, measure } from './measure.mjs';
import { promptTokens, tokens } from './scenarios.mjs';
import { writeSection } from './section.mjs';
import { startServer, useServer } from './server.mjs';
import { median, startUp, startups, summarize } from './summary.mjs';
import { clientTables } from './tables.mjs';
import { makeTokenizer } from './tokenizer.mjs';

const say = (text) => process.stderr.write(`${text}\n`);
const pauseMs = 500;

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.once(signal, () => {
    endPrograms();
    process.exit(code);
  });
}

/** The clients that are installed; says of the others how to get them. */
function installed({ clients, paths }) {
  return clients.flatMap((client) => {
    const found = client.find(paths[client.flag]);
    if (!found) say(`${client.name} is left out, it is not installed: ${client.install}`);
    return found ? [{ ...client, ...found }] : [];
  });
}

/** One client, one load: how it went, or why there is no result. */
async function runOnce({ client, scenario, requests, repeat, server, model, tokenizer, work, timeoutS }) {
  const dir = join(work, `${scenario}-${repeat}-${client.name}`);
  mkdirSync(dir);
  const begun = await server.reset();
  const { program } = client;
  const command = client.command({ program, url: server.url, model, requests, tokens, promptTokens, tokenizer, dir });
  const { log, ...ran } = await measure({
    command,
    env: client.env,
    dir,
    timeoutS,
    serverCpuS: async () => (await server.stats()).cpuS,
    firstRequest: server.firstRequest,
  });
  const { ttft, itl, lateness, chunks, answered, cpuS } = await server.stats();
  const run = {
    scenario,
    client: client.name,
    repeat,
    requests,
    command,
    ...ran,
    chunks,
    serverCpuS: cpuS - begun.cpuS,
    server: { answered, ttft, itl, lateness },
  };
  try {
    const result = client.read(dir);
    if (result.ok < requests) throw new Error(`only ${result.ok} of ${requests} requests were ok`);
    // The server's figures are then of more than what the client reports.
    if (answered !== requests)
      say(`  the server answered ${answered} requests, not ${requests}: ${client.name} asks more`);
    return { ...run, result };
  } catch (error) {
    const why = ran.timedOut ? `it did not end within ${timeoutS} s` : reasonOf(error);
    return { ...run, problem: `${client.name}, ${scenario}: no result (${why}); exit code ${ran.code}, ${log}` };
  }
}

const reasonOf = (error) => (error.code === 'ENOENT' ? 'it wrote none' : error.message);

const figures = ({ result, problem, server, cpuS, startCpuS, otherCores }) => {
  if (problem) return problem;
  const gaps = result.itlP99S === null ? '' : `, ITL p99 ${(result.itlP99S * 1000).toFixed(1)} ms`;
  return (
    `TTFT ${(result.ttftMeanS * 1000).toFixed(1)} ms (server ${(server.ttft.meanS * 1000).toFixed(1)})${gaps}, ` +
    `CPU ${cpuS?.toFixed(2)} s (${startCpuS?.toFixed(2)} before the first request)${result.verdict ? `, ${result.verdict}` : ''}` +
    `${otherCores > quietCores ? `; others took ${otherCores.toFixed(1)} cores` : ''}`
  );
};

/** Every client in every scenario, interleaved, each repeat beginning with another client. */
async function measureAll(flags, clients, work) {
  const tokenizer = makeTokenizer(join(work, 'tokenizer'));
  const runs = [];
  for (const [number, scenario] of flags.scenarios.entries()) {
    const server = flags.server ? useServer(flags.server) : await startServer({ tokens, ...scenario });
    try {
      const model = await server.model();
      for (let repeat = 1; repeat <= flags.repeats; repeat++) {
        for (let turn = 0; turn < clients.length; turn++) {
          const client = clients[(turn + repeat - 1) % clients.length];
          const shared = { client, repeat, server, model, tokenizer, work, timeoutS: flags.timeoutS };
          const loads = [{ scenario: scenario.name, requests: scenario.requests }];
          // What starting costs does not depend on the scenario.
          if (number === 0) loads.unshift({ scenario: startUp, requests: 1 });
          for (const one of loads) {
            await sleep(pauseMs);
            const run = await runOnce({ ...shared, ...one });
            runs.push(run);
            say(`${one.scenario} ${repeat}/${flags.repeats} ${client.name}: ${figures(run)}`);
          }
        }
      }
    } finally {
      await server.stop();
    }
  }
  return runs;
}

function report(flags, clients, runs, loads) {
  const summary = summarize(runs, flags.scenarios, clients);
  const starts = startups(runs, flags.scenarios, clients);
  const machine = machineFacts();
  const otherCores = median(runs.map((run) => run.otherCores));
  // The load average still counts what ran minutes ago; what others took while it was measured is what counts.
  const busy = otherCores > quietCores;
  const text = [
    `${machine.cpu}, ${machine.cores} cores, ${machine.os}, Node ${machine.node}; load average ` +
      `${loads.before.toFixed(2)} before, ${loads.after.toFixed(2)} after; others took ${otherCores.toFixed(2)} cores ` +
      `(median of the runs). ${new Date().toISOString().slice(0, 10)}, ` +
      `${flags.repeats === 1 ? 'one run each' : `medians of ${flags.repeats} interleaved runs`}.`,
    ...(busy ? [notQuiet] : []),
    clientTables({ summary, scenarios: flags.scenarios, clients, starts }),
  ].join('\n\n');
  process.stdout.write(`${text}\n`);
  for (const { client, scenario, repeat, result } of runs) {
    if (result?.reason) say(`${client}, ${scenario}, run ${repeat}: ${result.verdict}: ${result.reason}`);
  }
  if (busy) say(`warning: other programs took more than ${quietCores} cores; repeat it on a quiet machine`);
  if (flags.doc) writeSection(flags.doc, 'load clients', text);
  if (flags.json) {
    const versions = clients.map(({ name, version }) => ({ name, version }));
    const everything = { at: new Date().toISOString(), machine, loads, tokens, promptTokens, clients: versions };
    writeFileSync(flags.json, `${JSON.stringify({ ...everything, starts, summary, runs }, null, 2)}\n`);
  }
}

async function main() {
  let flags;
  try {
    flags = readFlags(process.argv.slice(2));
  } catch (error) {
    say(error.message);
    return 2;
  }
  if (flags.help) {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  const clients = installed(flags);
  if (clients.length === 0) throw new Error('none of these clients is installed');
  const loads = { before: load() };
  if (loads.before > quietCores)
    say(`warning: the load average is ${loads.before.toFixed(2)}; the machine should be idle`);
  const work = mkdtempSync(join(tmpdir(), 'servetune-bench-'));
  const runs = await measureAll(flags, clients, work);
  loads.after = load();
  report(flags, clients, runs, loads);
  const problems = runs.flatMap(({ problem }) => problem ?? []);
  for (const problem of problems) say(problem);
  if (problems.length === 0) rmSync(work, { recursive: true });
  return problems.length === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  endPrograms();
  say(error.message);
  process.exitCode = 1;
}
