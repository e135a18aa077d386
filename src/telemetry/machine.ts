import os from 'node:os';
import { runToEnd } from '../processes/run.ts';
import type { Machine } from '../records/run.ts';

/** The machine as found. What identifies it (host name, serial numbers, addresses) is not asked for. */
export async function describeMachine(
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Machine> {
  const cpus = os.cpus();
  return {
    os: `${os.type()} ${os.release()} ${os.arch()}`,
    cpu: cpus[0]?.model.trim() ?? 'unknown CPU',
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    gpus: await nvidiaGpus(environment, signal),
    node: process.version,
  };
}

/** One line a GPU; empty where there is no `nvidia-smi`, or it finds nothing. */
async function nvidiaGpus(
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const query = ['nvidia-smi', '--query-gpu=name,memory.total,driver_version,power.limit', '--format=csv,noheader'];
  try {
    const { code, stdout } = await runToEnd(query, { env: environment, timeoutS: 10, signal });
    return code === 0 ? stdout.split('\n').filter((line) => line.trim() !== '') : [];
  } catch {
    signal.throwIfAborted();
    return [];
  }
}
