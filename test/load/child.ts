import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { ClientHealth, Summary } from '../../src/records/summary.ts';

const dist = join(import.meta.dirname, '../../dist');

/** Sends a load as its plan says and prints what came of it; runs what `npm test` has built. */
const script = `
  const { runLoad } = await import(${JSON.stringify(`${dist}/load/runner.js`)});
  const { endpointNamed } = await import(${JSON.stringify(`${dist}/endpoints/table.js`)});
  const { failureHints } = await import(${JSON.stringify(`${dist}/load/hints.js`)});
  const { summarize } = await import(${JSON.stringify(`${dist}/metrics/summary.js`)});
  const { baseUrl, count, promptBytes, maxConcurrency, requestRate } = JSON.parse(process.env.LOAD);
  const requests = Array.from({ length: count }, (_, index) => ({
    index, prompt: String(index).padEnd(promptBytes, ' word'), promptTokens: 2, outputTokens: 8,
  }));
  const result = await runLoad(
    { baseUrl: new URL(baseUrl), endpoint: endpointNamed('openai-chat'), model: 'm' },
    {
      requests, minRequests: count, minDurationS: 0, maxConcurrency,
      arrivals: { requestRate: requestRate ?? Infinity, burstiness: Infinity, seed: 0 },
      ask: { sampling: {}, ignoreEos: true, compat: 'servetune' },
    },
    { signal: new AbortController().signal },
  );
  const records = [...result.records];
  console.log(JSON.stringify({
    client: result.client,
    summary: summarize(records, { asked: result.asked, percentiles: [99] }),
    hints: failureHints(records),
  }));
`;

export interface ChildLoad {
  readonly baseUrl: URL;
  readonly count: number;
  readonly promptBytes?: number;
  readonly maxConcurrency: number | null;
  /** Requests a second, evenly spaced; absent: all at once. */
  readonly requestRate?: number;
}

export interface ChildResult {
  readonly client: ClientHealth;
  readonly summary: Summary;
  readonly hints: readonly string[];
}

/**
 * Sends a load from a process of its own, so that whatever befalls that client befalls nobody else. `before` is shell
 * that its process is started with (`ulimit -n 64`); `during` gets its process id.
 */
export async function loadInChild(
  { promptBytes = 8, ...load }: ChildLoad,
  { before = ':', during }: { readonly before?: string; during?(pid: number): () => void } = {},
): Promise<ChildResult> {
  let stop: (() => void) | undefined;
  try {
    const stdout = await new Promise<string>((resolve, reject) => {
      const child = execFile(
        'sh',
        ['-c', `${before}; exec "$0" --input-type=module -e "$1"`, process.execPath, script],
        { env: { ...process.env, LOAD: JSON.stringify({ ...load, promptBytes }) }, timeout: 50_000 },
        (error, out, stderr) => (error ? reject(new Error(`${error.message}\n${stderr}`)) : resolve(out)),
      );
      if (child.pid !== undefined) stop = during?.(child.pid);
    });
    return JSON.parse(stdout) as ChildResult;
  } finally {
    stop?.();
  }
}
