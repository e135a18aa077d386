import { now } from '../kit/clock.ts';
import type { Problem } from '../kit/errors.ts';
import type { Exit } from '../processes/messages.ts';
import { startWatched, type Watched } from '../processes/watched.ts';
import type { Gpu } from '../records/gpu.ts';
import type { GpuSample } from '../records/telemetry.ts';
import { type Environment, endOf, type Meter, problemOf, toolFailure } from './gpu-tool.ts';
import { withTool } from './gpus.ts';

/** Samples of GPUs while it runs. Whatever goes wrong with the tool ends no trial: it is the problem here. */
export interface GpuWatch extends AsyncDisposable {
  /** In the order of their times, all GPUs in one list. Grows while the watch runs. */
  readonly samples: readonly GpuSample[];
  /** Why samples are missing, as soon as they are. */
  problem(): Problem | undefined;
  /** Ends the sampling; when it resolves, nothing of it runs any more. May be called again. */
  stop(): Promise<void>;
}

export interface GpuWatchOptions {
  readonly environment: Environment;
  /** Between two samples of a GPU (default 1 s); tools that are slower than that sample as they can. */
  readonly everyS?: number;
  /** Without any sample for so long, the tool is said to hang (default 15 s). */
  readonly silenceS?: number;
}

/** More than any record that is one: what comes without an end is no record. */
const maxPendingChars = 1024 * 1024;

/**
 * Samples GPUs (of one vendor) with one process, which a watchdog ends when this process is gone. Rejects only with the
 * signal's reason; when the signal aborts later, the sampling ends by itself.
 */
export async function watchGpus(
  gpus: readonly Gpu[],
  options: GpuWatchOptions,
  signal: AbortSignal,
): Promise<GpuWatch> {
  signal.throwIfAborted();
  const { environment, everyS = 1, silenceS = 15 } = options;
  const [first] = gpus;
  if (first === undefined) return idleWatch();
  try {
    const { program, meter } = await withTool(first.vendor, environment, signal, async (tool, run) => ({
      program: tool.program,
      meter: await tool.meter(run),
    }));
    const watched = await startWatched({ argv: meter.loop(everyS), env: environment }, 'pipes');
    const indexes = new Set(gpus.map(({ index }) => index));
    return follow(watched, program, meter, indexes, silenceS, signal);
  } catch (error) {
    signal.throwIfAborted();
    return idleWatch(problemOf('GPU telemetry', error));
  }
}

const idleWatch = (problem?: Problem): GpuWatch => ({
  samples: [],
  problem: () => problem,
  stop: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
});

function follow(
  watched: Watched,
  program: string,
  { recordEnd, parse }: Meter,
  indexes: ReadonlySet<number>,
  silenceS: number,
  signal: AbortSignal,
): GpuWatch {
  const samples: GpuSample[] = [];
  let lastAtS = now();
  let said = '';
  let pending = '';
  /** How it ended before it was told to. */
  let earlyEnd: Exit | undefined;
  let stoppedAtS: number | undefined;
  let stopping: Promise<void> | undefined;

  watched.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    const records = (pending + chunk).split(recordEnd);
    // The last one is not whole yet; should the tool end here, it never will be.
    pending = (records.pop() ?? '').slice(-maxPendingChars);
    for (const record of records) read(record);
  });
  watched.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-2000);
  });

  function read(record: string): void {
    const atS = now();
    const readings = parse(record);
    if (readings.length === 0) {
      said = (said + record).slice(-2000);
      return;
    }
    lastAtS = atS;
    for (const reading of readings) if (indexes.has(reading.index)) samples.push({ atS, ...reading });
  }

  function problem(): Problem | undefined {
    if (earlyEnd) return problemOf(program, toolFailure(program, said, endOf(earlyEnd)));
    const silentS = (stoppedAtS ?? now()) - lastAtS;
    if (silentS <= silenceS) return undefined;
    return problemOf(program, toolFailure(program, said, `no sample for ${Math.round(silentS)} s`));
  }

  async function end(): Promise<void> {
    signal.removeEventListener('abort', stop);
    await watched.end(1);
    watched.stdout?.destroy();
    watched.stderr?.destroy();
  }

  const stop = (): Promise<void> => {
    stoppedAtS ??= now();
    stopping ??= end();
    return stopping;
  };
  signal.addEventListener('abort', stop);
  if (signal.aborted) void stop();

  void watched.exited.then((exit) => {
    if (stopping === undefined) earlyEnd = exit;
  });
  return { samples, problem, stop, [Symbol.asyncDispose]: stop };
}
