import { now, sleep } from '../kit/clock.ts';
import { messageOf } from '../kit/errors.ts';
import type { Gpu } from '../records/gpu.ts';
import type { GpuReading, HeldMemory, MemoryWait } from '../records/telemetry.ts';
import { type Environment, toolRunner } from './gpu-tool.ts';
import { holdersOf, withTool } from './gpus.ts';

/** MiB in use, by `Gpu.index`. A GPU that does not tell is absent: one that shares the machine's memory. */
export type MemoryUse = ReadonlyMap<number, number>;

/** What may differ from the baseline and still count as free: 1 % of the memory, at least 512 MiB. */
export const toleranceMiB = ({ memoryMiB }: Pick<Gpu, 'memoryMiB'>): number => Math.max(0.01 * memoryMiB, 512);

/** Memory that is in use now. Empty without GPUs; throws a ServetuneError when no tool answers. */
export async function memoryOf(
  gpus: readonly Gpu[],
  environment: Environment,
  signal: AbortSignal,
): Promise<MemoryUse> {
  return (await memoryMeter(gpus, environment, signal))();
}

/** Reads the memory in use, again and again without asking what the tool can tell each time. */
async function memoryMeter(
  gpus: readonly Gpu[],
  environment: Environment,
  signal: AbortSignal,
): Promise<() => Promise<MemoryUse>> {
  const [first] = gpus;
  if (first === undefined) return async () => new Map();
  const meter = await withTool(first.vendor, environment, signal, (tool, run) => tool.meter(run));
  const run = toolRunner(environment, signal);
  const ours = new Set(gpus.map(({ index }) => index));
  return async () => usedIn(meter.parse(await run(meter.once)).filter(({ index }) => ours.has(index)));
}

const usedIn = (readings: readonly GpuReading[]): MemoryUse =>
  new Map(
    readings.flatMap(({ index, memoryUsedMiB }) => (memoryUsedMiB === null ? [] : [[index, memoryUsedMiB] as const])),
  );

export interface MemoryWaitLimits {
  /** Between two looks (default 1 s). */
  readonly everyS?: number;
  /** Longest wait (default 120 s): a driver that unpins much host memory takes tens of seconds. */
  readonly limitS?: number;
}

/**
 * Waits after the end of an engine until its GPUs' memory is free again, as it was before its start: `baseline`, within
 * `toleranceMiB`. Where it does not come back, the result says which processes hold it. What is wrong with the tool is
 * in the result; rejects only with the signal's reason.
 */
export async function waitForMemory(
  gpus: readonly Gpu[],
  baseline: MemoryUse,
  environment: Environment,
  signal: AbortSignal,
  { everyS = 1, limitS = 120 }: MemoryWaitLimits = {},
): Promise<MemoryWait> {
  const beganAt = now();
  const known = gpus.filter(({ index }) => baseline.has(index));
  let read: (() => Promise<MemoryUse>) | undefined;
  let above: readonly Omit<HeldMemory, 'holders'>[] = [];
  let problem: string | undefined;
  for (;;) {
    try {
      read ??= await memoryMeter(known, environment, signal);
      above = aboveBaseline(known, baseline, await read());
      problem = undefined;
      if (above.length === 0) return { waitedS: now() - beganAt, held: [] };
    } catch (error) {
      signal.throwIfAborted();
      problem = messageOf(error);
    }
    const leftS = beganAt + limitS - now();
    if (leftS <= 0) break;
    await sleep(Math.min(everyS, leftS), signal);
  }
  const held = await Promise.all(
    above.map(async (use): Promise<HeldMemory> => {
      const gpu = known.find(({ index }) => index === use.index);
      const holders = gpu && (await holdersOf(gpu, environment, signal).catch(() => []));
      return { ...use, holders: holders ?? [] };
    }),
  );
  signal.throwIfAborted();
  return { waitedS: now() - beganAt, held, ...(problem === undefined ? {} : { problem }) };
}

const aboveBaseline = (
  gpus: readonly Gpu[],
  baseline: MemoryUse,
  use: MemoryUse,
): readonly Omit<HeldMemory, 'holders'>[] =>
  gpus.flatMap((gpu) => {
    const baselineMiB = baseline.get(gpu.index) ?? 0;
    const usedMiB = use.get(gpu.index);
    if (usedMiB === undefined) throw new Error(`GPU ${gpu.index} does not tell its memory any more`);
    return usedMiB > baselineMiB + toleranceMiB(gpu) ? [{ index: gpu.index, usedMiB, baselineMiB }] : [];
  });
