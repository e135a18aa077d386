import type { Readable } from 'node:stream';
import { sleep } from '../kit/clock.ts';
import { startWatched } from './watched.ts';

export interface RunOptions {
  /** The complete environment: nothing is inherited beside it. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutS: number;
  readonly signal?: AbortSignal;
  readonly cwd?: string;
  /** Most that is kept of each stream (default 1 MiB), from its beginning; the rest is read and dropped. */
  readonly maxOutputBytes?: number;
}

export interface RunResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/**
 * Runs a short program to its end and returns what it printed. Never leaves anything behind: not after the time-out,
 * not after an abort (rejects with the signal's reason), not when the program leaves children, not when we are killed.
 * Throws a ServetuneError when it cannot be started: see `startWatched`.
 */
export async function runToEnd(argv: readonly string[], options: RunOptions): Promise<RunResult> {
  const { env, timeoutS, signal, cwd, maxOutputBytes = 1024 * 1024 } = options;
  signal?.throwIfAborted();
  const watched = await startWatched({ argv, env, ...(cwd === undefined ? {} : { cwd }) }, 'pipes');
  const stdout = collect(watched.stdout, maxOutputBytes);
  const stderr = collect(watched.stderr, maxOutputBytes);

  let timedOut = false;
  const end = (): void => void watched.end(1);
  const timeout = setTimeout(() => {
    timedOut = true;
    end();
  }, timeoutS * 1000);
  signal?.addEventListener('abort', end);
  if (signal?.aborted) end();
  const { exit } = await watched.ended;
  clearTimeout(timeout);
  signal?.removeEventListener('abort', end);

  // Everything that could write is gone, but what it wrote may still be on its way.
  await Promise.race([Promise.all([stdout.closed, stderr.closed]), sleep(1)]);
  for (const stream of [watched.stdout, watched.stderr]) stream?.destroy();
  signal?.throwIfAborted();
  return { ...exit, stdout: stdout.text(), stderr: stderr.text(), timedOut };
}

function collect(stream: Readable | null, maxBytes: number): { readonly closed: Promise<void>; text(): string } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on('data', (chunk: Buffer) => {
    if (bytes < maxBytes) chunks.push(chunk.subarray(0, maxBytes - bytes));
    bytes += chunk.length;
  });
  const closed = new Promise<void>((done) => {
    if (stream) stream.once('close', () => done());
    else done();
  });
  return { closed, text: () => Buffer.concat(chunks).toString('utf8') };
}
