import os from 'node:os';
import type { Gpu } from '../records/gpu.ts';
import type { Machine } from '../records/run.ts';

/** The machine with the GPUs that were found in it. What identifies it (host name, serial numbers) is not asked for. */
export function describeMachine(gpus: readonly Gpu[]): Machine {
  const cpus = os.cpus();
  return {
    os: `${os.type()} ${os.release()} ${os.arch()}`,
    cpu: cpus[0]?.model.trim() ?? 'unknown CPU',
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    gpus: gpus.map(describeGpu),
    node: process.version,
  };
}

/** A GPU in one line, its name up to the first comma: `NVIDIA H200, 143771 MiB, driver 580.159.04, 700 W`. */
export const describeGpu = ({ name, memoryMiB, driver, powerLimitW }: Gpu): string =>
  [
    name.replaceAll(',', ' '),
    `${memoryMiB} MiB`,
    ...(driver === '' ? [] : [`driver ${driver}`]),
    ...(powerLimitW === null ? [] : [`${powerLimitW} W`]),
  ].join(', ');
