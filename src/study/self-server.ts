import type { Readable } from 'node:stream';
import { messageOf, ServetuneError } from '../kit/errors.ts';
import { startWatched } from '../processes/watched.ts';
import type { PacedOptions } from '../serving/paced/options.ts';
import { pacedEntryPath } from '../serving/paced/server.ts';
import type { PacedStats } from '../serving/paced/tallies.ts';

/** A server of known timing in a process of its own, which cannot outlive this one. */
export interface SelfServer extends AsyncDisposable {
  readonly baseUrl: URL;
  /** What it saw of itself since the last reset. */
  stats(): Promise<PacedStats>;
  reset(): Promise<void>;
}

export interface SelfServerContext {
  /** The complete environment of its process. */
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** It warms up for about half a second first, and a busy machine may give it little time for that. */
const startTimeoutS = 30;
/** It has nothing to lose. */
const graceS = 1;

/**
 * Starts a paced server on a free port of loopback, and waits until it serves. Throws a ServetuneError
 * `self_test_server`, and what `startWatched` throws, with nothing left running; the signal's reason when it aborts.
 */
export async function startSelfServer(
  options: Partial<PacedOptions>,
  { env, signal }: SelfServerContext,
): Promise<SelfServer> {
  signal.throwIfAborted();
  const flags = Object.entries(options).flatMap(([key, value]) => [`--${key}`, String(value)]);
  const watched = await startWatched({ argv: [process.execPath, pacedEntryPath, ...flags], env }, 'pipes');
  const complaint = firstText(watched.stderr);
  const late = AbortSignal.any([signal, AbortSignal.timeout(startTimeoutS * 1000)]);
  try {
    const over = new Promise<never>((_, reject) => {
      late.addEventListener('abort', () => reject(failed(`it did not serve within ${startTimeoutS} s`)), {
        once: true,
      });
      if (late.aborted) reject(failed('interrupted'));
      void watched.ended.then(() => reject(failed(complaint() || 'it ended before it served')));
    });
    const line = await Promise.race([firstLine(watched.stdout), over]);
    const { port } = JSON.parse(line) as { readonly port: number };
    const baseUrl = new URL(`http://127.0.0.1:${port}`);
    const ask = async (method: 'GET' | 'POST', path: string): Promise<unknown> => {
      try {
        const response = await fetch(new URL(path, baseUrl), { method, signal });
        return await response.json();
      } catch (error) {
        signal.throwIfAborted();
        throw failed(`it does not answer any more: ${complaint() || messageOf(error)}`, error);
      }
    };
    return {
      baseUrl,
      stats: async () => (await ask('GET', '/stats')) as PacedStats,
      reset: async () => void (await ask('POST', '/reset')),
      [Symbol.asyncDispose]: async () => void (await watched.end(graceS)),
    };
  } catch (error) {
    await watched.end(graceS);
    signal.throwIfAborted();
    throw error;
  }
}

const failed = (message: string, cause?: unknown): ServetuneError =>
  new ServetuneError('self_test_server', `the built-in server failed: ${message}`, {
    hint: 'look at the limits of processes, files and memory (ulimit -a), and at whether loopback works here',
    cause,
  });

function firstLine(stream: Readable | null): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    // Goes on reading after the line: a full pipe would hold the program.
    stream?.on('data', (chunk: Buffer) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
    });
  });
}

const mostText = 2000;

function firstText(stream: Readable | null): () => string {
  let text = '';
  stream?.on('data', (chunk: Buffer) => {
    if (text.length < mostText) text += chunk;
  });
  return () => text.slice(0, mostText).trim();
}
