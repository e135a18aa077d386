import type { Environment } from '../engines/engine.ts';
import type { Gpu } from '../records/gpu.ts';
import type { CounterSummary, GpuSummary } from '../records/telemetry.ts';
import { watchCounters } from '../telemetry/counter-watch.ts';
import { gpuSummary, type Window } from '../telemetry/gpu-summary.ts';
import { watchGpus } from '../telemetry/gpu-watch.ts';
import type { RunningEngine } from './running-engine.ts';

/** What GPUs and engine told of themselves during one load; absent where they tell nothing. */
export interface Observed {
  readonly gpu?: GpuSummary;
  readonly counters?: CounterSummary;
}

/** Watches GPUs and engine while a load is sent. */
export interface Observation extends AsyncDisposable {
  /** Ends the watching, and tells what happened in the time of the load. */
  finish(window: Window, outputTokens: number | null): Promise<Observed>;
}

/** Begins to watch. What is wrong with a tool or a route leaves gaps, and is no reason not to measure. */
export async function observe(
  { engine, baseUrl }: Pick<RunningEngine, 'engine' | 'baseUrl'>,
  gpus: readonly Gpu[],
  environment: Environment,
  signal: AbortSignal,
): Promise<Observation> {
  const gpuWatch = gpus.length === 0 ? undefined : await watchGpus(gpus, { environment }, signal);
  const counterWatch = engine.counters && (await watchCounters(engine.counters, baseUrl, signal));
  return {
    async finish(window, outputTokens) {
      const counters = await counterWatch?.finish(window);
      await gpuWatch?.stop();
      const gpu = gpuWatch && gpuSummary(gpuWatch.samples, window, outputTokens);
      return {
        ...(gpu ? { gpu } : {}),
        ...(counters && counters.scrapes > 0 ? { counters } : {}),
      };
    },
    async [Symbol.asyncDispose]() {
      await counterWatch?.[Symbol.asyncDispose]();
      await gpuWatch?.[Symbol.asyncDispose]();
    },
  };
}
