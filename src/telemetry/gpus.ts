import type { Problem } from '../kit/errors.ts';
import { findProgram } from '../processes/programs.ts';
import type { Gpu } from '../records/gpu.ts';
import type { GpuHolder } from '../records/telemetry.ts';
import { amdSmi, rocmSmi } from './amd.ts';
import { npuSmi } from './ascend.ts';
import { type Environment, type GpuTool, problemOf, type RunTool, toolRunner } from './gpu-tool.ts';
import { nvidiaSmi } from './nvidia.ts';
import { visibleGpus } from './visible.ts';

/** Every vendor's tool, in the order in which they are asked. To add one: write its file, then name it here. */
const tools: readonly GpuTool[] = [nvidiaSmi, amdSmi, rocmSmi, npuSmi];

export interface FoundGpus {
  /** Those that programs are shown. */
  readonly gpus: readonly Gpu[];
  /** Those that the environment hides from programs, and by what (`CUDA_VISIBLE_DEVICES=3`); absent: none. */
  readonly hidden?: { readonly gpus: readonly Gpu[]; readonly by: string };
  /** Why there are none although a tool is installed: a driver that is not loaded, no rights. */
  readonly problem?: Problem;
}

/**
 * The GPUs of the first vendor whose tool is on PATH and finds any, as far as the environment shows them to programs. Never throws for what is wrong with a tool or a
 * driver: that is the problem in the result. Rejects only with the signal's reason.
 */
export async function findGpus(environment: Environment, signal: AbortSignal): Promise<FoundGpus> {
  let problem: Problem | undefined;
  for (const tool of tools.filter(installedIn(environment))) {
    try {
      const { visible, hidden, by } = visibleGpus(await tool.list(toolRunner(environment, signal)), environment);
      return { gpus: visible, ...(hidden.length === 0 ? {} : { hidden: { gpus: hidden, by } }) };
    } catch (error) {
      signal.throwIfAborted();
      problem ??= problemOf(tool.program, error);
    }
  }
  return problem ? { gpus: [], problem } : { gpus: [] };
}

/** The GPUs as `findGpus` finds them; empty where there are none, and where they cannot be asked. */
export const gpusOf = async (environment: Environment, signal: AbortSignal): Promise<readonly Gpu[]> =>
  (await findGpus(environment, signal)).gpus;

/**
 * The processes that hold memory of a GPU, as the vendor's tool tells; in a container without the host's process ids it
 * often tells none. Throws a ServetuneError when no tool answers.
 */
export const holdersOf = (gpu: Gpu, environment: Environment, signal: AbortSignal): Promise<readonly GpuHolder[]> =>
  withTool(gpu.vendor, environment, signal, (tool, run) => tool.holders(gpu, run));

/** Uses the first installed tool of a vendor that works; throws what the first one threw when none does. */
export async function withTool<T>(
  vendor: Gpu['vendor'],
  environment: Environment,
  signal: AbortSignal,
  use: (tool: GpuTool, run: RunTool) => Promise<T>,
): Promise<T> {
  const ofVendor = tools.filter((tool) => tool.vendor === vendor);
  const installed = ofVendor.filter(installedIn(environment));
  let failure: unknown;
  // With none installed, trying to start one gives the error that says so.
  for (const tool of installed.length > 0 ? installed : ofVendor) {
    try {
      return await use(tool, toolRunner(environment, signal));
    } catch (error) {
      signal.throwIfAborted();
      failure ??= error;
    }
  }
  throw failure;
}

const installedIn =
  (environment: Environment) =>
  ({ program }: GpuTool): boolean =>
    findProgram(program, environment.PATH) !== null;
