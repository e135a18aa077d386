// Memory of the load client over a very long load: node tools/bench/million.mjs [requests]. Run `npm run build` first.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endpointNamed } from '../../dist/endpoints/table.js';
import { runLoad } from '../../dist/load/runner.js';
import { summarize } from '../../dist/metrics/summary.js';
import { machineFacts } from './machine.mjs';
import { startServer } from './server.mjs';

const count = Number(process.argv[2] ?? 1_000_000);
const tokens = 16;
const work = mkdtempSync(join(tmpdir(), 'servetune-million-'));
const server = await startServer({ name: 'unpaced', tokens, ttftMs: 0, itlMs: 0, eventsPerWrite: tokens });
try {
  const requests = Array.from({ length: count }, (_, index) => ({
    index,
    prompt: 'How long is a piece of string?',
    promptTokens: 8,
    outputTokens: tokens,
  }));
  const recordsPath = join(work, 'records.jsonl');
  const load = await runLoad(
    { baseUrl: server.url, endpoint: endpointNamed('openai'), model: await server.model() },
    {
      requests,
      minRequests: count,
      minDurationS: 0,
      maxConcurrency: 64,
      arrivals: { requestRate: Number.POSITIVE_INFINITY, burstiness: 1, seed: 0 },
      ask: { sampling: {}, ignoreEos: true, compat: 'servetune' },
    },
    { signal: new AbortController().signal, workers: 1, recordsPath },
  );
  const { ok, durationS, outputTokens } = summarize(load.records, { asked: count, percentiles: [50, 99] });
  const { cpu, cores, node } = machineFacts();
  const peakMb = process.resourceUsage().maxRSS / 1024;
  const recordsMb = statSync(recordsPath).size / 2 ** 20;
  process.stdout.write(
    `${ok.toLocaleString('en')} requests of ${tokens} tokens (${outputTokens.toLocaleString('en')}) in ` +
      `${durationS.toFixed(0)} s: at most ${peakMb.toFixed(0)} MB of memory, ${recordsMb.toFixed(0)} MB of records on ` +
      `disk; ${cpu}, ${cores} cores, Node ${node}\n`,
  );
} finally {
  await server.stop();
  rmSync(work, { recursive: true });
}
