import { readFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { writeFileAtomic } from '../kit/files.ts';
import { type Ceiling, type ClientMachine, ceiling } from '../records/ceiling.ts';
import type { ClientHealth, Summary } from '../records/summary.ts';

const pathIn = (cacheDir: string): string => join(cacheDir, 'client-ceiling.json');

/** What a ceiling that is measured here and now depends on. */
export const clientMachineHere = (): ClientMachine => ({
  cpu: os.cpus()[0]?.model.trim() || 'unknown CPU',
  cores: os.availableParallelism(),
  node: process.version,
});

/**
 * Keeps a ceiling in place of the one before; returns the path. Null, and nothing is changed, when it was measured on a
 * busy machine and the one before, of the same machine and workers, was not: that one is nearer to the truth. Throws
 * what the system throws.
 */
export function keepCeiling(cacheDir: string, found: Ceiling): string | null {
  const before = readCeiling(cacheDir);
  if (found.busy && before?.busy === false && before.workers === found.workers) return null;
  const path = pathIn(cacheDir);
  writeFileAtomic(path, `${JSON.stringify(found, null, 2)}\n`);
  return path;
}

/**
 * The ceiling that was kept last. Null where there is none, where it cannot be read, and where it was measured on
 * another machine or under another version of Node.
 */
export function readCeiling(cacheDir: string): Ceiling | null {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(pathIn(cacheDir), 'utf8'));
  } catch {
    return null;
  }
  const kept = ceiling.safeParse(content).data;
  if (kept === undefined) return null;
  const here = clientMachineHere();
  const { cpu, cores, node } = kept.machine;
  return cpu === here.cpu && cores === here.cores && node === here.node ? kept : null;
}

/**
 * How much of its ceiling the client needed for a load, 0 to 1; null where nothing succeeded. Only for a load with as
 * many workers as the ceiling was measured with.
 *
 * A request with its first event costs what an answer of one token did, every further event what it did in long
 * streams: requests / s ÷ `requestsPerS` + further events / s ÷ `eventsPerS`. Events are the output tokens over the
 * tokens an event; answers without tokens (embeddings) are requests alone.
 */
export function headroom(
  { requestsPerS, eventsPerS }: Pick<Ceiling, 'requestsPerS' | 'eventsPerS'>,
  summary: Pick<Summary, 'requestThroughput' | 'outputThroughput' | 'tokensPerEvent'>,
): number | null {
  const { requestThroughput: requests, outputThroughput: tokens, tokensPerEvent } = summary;
  if (requests === null) return null;
  const events = (tokens ?? 0) / Math.max(tokensPerEvent ?? 1, 1);
  return Math.min(1, requests / requestsPerS + Math.max(0, events - requests) / eventsPerS);
}

/** The health of a client with how near the load came to its ceiling, where that was measured with as many threads. */
export function belowCeiling(
  client: ClientHealth,
  summary: Parameters<typeof headroom>[1],
  cacheDir: string,
): ClientHealth {
  const ceiling = readCeiling(cacheDir);
  if (ceiling === null || ceiling.workers !== client.workers) return client;
  const share = headroom(ceiling, summary);
  return share === null ? client : { ...client, ceilingShare: share };
}
