import type { Environment } from '../../engines/engine.ts';
import { ServetuneError } from '../../kit/errors.ts';
import { invoked } from '../../kit/invocation.ts';
import { formatBytes } from '../../kit/words.ts';
import { findProgram } from '../../processes/programs.ts';
import { nameOthers } from '../../processes/reap.ts';
import { runToEnd } from '../../processes/run.ts';
import type { Gpu } from '../../records/gpu.ts';
import type { GpuHolder } from '../../records/telemetry.ts';
import { findGpus, holdersOf } from '../../telemetry/gpus.ts';
import { memoryOf } from '../../telemetry/memory.ts';
import { type Finding, note, ok, problem } from './finding.ts';

/** Memory in use above which an engine that claims its usual nine tenths does not start, share of all. */
const muchInUse = 0.08;
/** Memory that a display or a monitor holds, MiB. */
const littleInUseMiB = 512;

/** How a GPU is set up, as far as its tool tells. */
export interface GpuMode {
  readonly persistence: boolean | null;
  /** One process at a time may use it. */
  readonly exclusive: boolean;
}

/** GPUs with their driver and what holds their memory now. */
export async function gpuFindings(
  environment: Environment,
  signal: AbortSignal,
): Promise<{ readonly gpus: readonly Gpu[]; readonly findings: readonly Finding[] }> {
  const { gpus, hidden, problem: broken } = await findGpus(environment, signal);
  if (broken !== undefined) {
    const hint = broken.hint ?? `look at what \`${broken.place}\` prints`;
    return { gpus, findings: [problem('driver', `${broken.place}: ${broken.message}`, hint)] };
  }
  const unseen = hidden === undefined ? [] : [hiddenFinding(hidden.gpus, hidden.by)];
  if (gpus.length === 0 && unseen.length > 0) return { gpus, findings: unseen };
  if (gpus.length === 0) {
    return { gpus, findings: [note('GPU', 'none found: only engines that compute on the CPU can be tuned')] };
  }
  const use = await unlessRefused(memoryOf(gpus, environment, signal), new Map<number, number>());
  const modes = await nvidiaModes(environment, signal);
  const findings: Finding[] = [];
  for (const gpu of gpus) {
    const usedMiB = use.get(gpu.index) ?? null;
    const asked = usedMiB !== null && usedMiB > littleInUseMiB;
    const holders = asked ? await unlessRefused(holdersOf(gpu, environment, signal), []) : [];
    findings.push(gpuFinding(gpu, { usedMiB, holders, mode: modes.get(gpu.uuid) }));
  }
  return { gpus, findings: [...findings, ...unseen, ...persistenceFinding([...modes.values()]), ...mixFinding(gpus)] };
}

/** What a tool does not tell is not known; that is no reason to end the examination. */
const unlessRefused = <T>(asked: Promise<T>, otherwise: T): Promise<T> =>
  asked.catch((error: unknown) => {
    if (error instanceof ServetuneError && error.code === 'gpu_tool_failed') return otherwise;
    throw error;
  });

/** One GPU. `holders` are the processes that the driver knows of, which in a container may be none. */
export function gpuFinding(
  gpu: Gpu,
  {
    usedMiB,
    holders = [],
    mode,
  }: { readonly usedMiB: number | null; readonly holders?: readonly GpuHolder[]; readonly mode?: GpuMode | undefined },
): Finding {
  const what = `GPU ${gpu.index}`;
  const facts = [
    gpu.name,
    memory(gpu.memoryMiB),
    ...(gpu.computeCapability === null ? [] : [`compute capability ${(gpu.computeCapability / 10).toFixed(1)}`]),
    ...(gpu.powerLimitW === null ? [] : [`${gpu.powerLimitW} W`]),
    `driver ${gpu.driver}`,
    ...(mode?.persistence ? ['persistence mode'] : []),
  ].join(', ');
  if (mode?.exclusive) {
    return note(what, `${facts}; takes one process at a time (exclusive mode)`, 'sudo nvidia-smi -c DEFAULT');
  }
  if (usedMiB === null || usedMiB <= littleInUseMiB) return ok(what, `${facts}; its memory is free`);
  const by = holders.length === 0 ? '' : `, by ${holders.map(held).join(', ')}`;
  const message = `${facts}; ${memory(usedMiB)} in use${by}`;
  if (usedMiB < muchInUse * gpu.memoryMiB) return note(what, message);
  return problem(
    what,
    message,
    `${invoked('doctor --reap')} ends what earlier runs left; end others by their pid, or lower gpu_memory_fraction`,
  );
}

/** GPUs that engines would not see, and so no study of this shell. */
export const hiddenFinding = (gpus: readonly Gpu[], by: string): Finding =>
  note(
    'hidden',
    `${gpus.map(({ index, name }) => `GPU ${index} (${name})`).join(', ')}: by ${by}`,
    `a study uses the others only; to use these, unset ${by.replace(/=\S*/g, '')}`,
  );

const memory = (mib: number): string => formatBytes(mib * 1024 ** 2, 'en');

function held({ pid, name, memoryMiB }: GpuHolder): string {
  const command = nameOthers([pid], [])[0]?.command ?? name;
  return `pid ${pid} (${command})${memoryMiB === null ? '' : ` with ${memory(memoryMiB)}`}`;
}

function persistenceFinding(modes: readonly GpuMode[]): readonly Finding[] {
  if (modes.every(({ persistence }) => persistence !== false)) return [];
  return [
    note(
      'persistence mode',
      'off: the driver sets a GPU up anew whenever nobody has used it',
      'sudo nvidia-smi -pm 1, before measuring',
    ),
  ];
}

function mixFinding(gpus: readonly Gpu[]): readonly Finding[] {
  const kinds = new Set(gpus.map(({ name, memoryMiB }) => `${name} ${memoryMiB}`));
  if (kinds.size < 2) return [];
  return [
    note('GPUs', 'not all of one kind: results hold for those that an engine took', 'choose by CUDA_VISIBLE_DEVICES'),
  ];
}

/** How NVIDIA's GPUs are set up, by UUID; empty where that is not told. */
async function nvidiaModes(environment: Environment, signal: AbortSignal): Promise<ReadonlyMap<string, GpuMode>> {
  if (findProgram('nvidia-smi', environment.PATH) === null) return new Map();
  const argv = ['nvidia-smi', '--query-gpu=uuid,persistence_mode,compute_mode', '--format=csv,noheader'];
  const { code, stdout } = await runToEnd(argv, { env: environment, timeoutS: 15, signal });
  if (code !== 0) return new Map();
  return new Map(
    stdout.split('\n').flatMap((line) => {
      const [uuid, persistence, mode = ''] = line.split(',').map((cell) => cell.trim());
      if (!uuid) return [];
      const kept = persistence === 'Enabled' ? true : persistence === 'Disabled' ? false : null;
      return [[uuid, { persistence: kept, exclusive: mode.startsWith('Exclusive') }] as const];
    }),
  );
}
