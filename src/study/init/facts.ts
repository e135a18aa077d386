import type { Environment } from '../../engines/engine.ts';
import { gpuNamed, gpus as knownGpus } from '../../hardware/gpus.ts';
import { InputError, ServetuneError } from '../../kit/errors.ts';
import type { Gpu } from '../../records/gpu.ts';
import { findGpus } from '../../telemetry/gpus.ts';
import { readReference } from '../../weights/reference.ts';
import { resolveCheckpoint } from '../../weights/resolve.ts';
import { modelShape } from '../../weights/shape.ts';
import { localModelProblems } from '../model-files.ts';
import type { KnownFacts } from '../resolve.ts';

/** What a study file is made for. What is not known is left out, and nothing is concluded from it. */
export interface StudyFacts extends KnownFacts {
  readonly weightBytes?: number;
  /** The GPUs are not this machine's: they were named. */
  readonly gpusNamed?: true;
}

/** GPUs that are not here, by the name of their kind. */
export interface AskedGpus {
  readonly gpu: string;
  readonly count: number;
}

/** Longest that the hub may take to tell about a model, seconds: a study file can be written without. */
const hubTimeoutS = 30;

/** Compute capabilities by architecture, as NVIDIA's CUDA programming guide lists them. */
const capabilities: readonly (readonly [RegExp, number])[] = [
  [/^A100\b/, 80],
  [/^(L4|L40S?|RTX 40\d\d)\b/, 89],
  [/^H[12]00\b/, 90],
  [/^B200\b/, 100],
  [/^RTX 50\d\d\b/, 120],
];

/** Such GPUs as a driver would list them. Throws an InputError with those that are known. */
export function gpusAskedFor({ gpu: name, count }: AskedGpus): readonly Gpu[] {
  const hardware = gpuNamed(name);
  if (hardware === null) {
    const hint = `known are ${knownGpus.map((one) => one.name).join(', ')}`;
    throw new InputError([{ place: '--gpu', message: `nothing is known of a GPU “${name}”`, hint }]);
  }
  const amd = hardware.name.startsWith('MI');
  return Array.from({ length: count }, (_, index) => ({
    vendor: amd ? 'amd' : 'nvidia',
    index,
    uuid: '',
    name: `${amd ? 'AMD' : 'NVIDIA'} ${hardware.name}`,
    memoryMiB: Math.round(hardware.memoryBytes / 2 ** 20),
    computeCapability: amd ? null : (capabilities.find(([pattern]) => pattern.test(hardware.name))?.[1] ?? null),
    driver: '',
    powerLimitW: hardware.powerCapW,
  }));
}

/** The GPUs that a study is made for, and why there are none. */
export async function gpuFacts(
  asked: AskedGpus | undefined,
  environment: Environment,
  signal: AbortSignal,
): Promise<Pick<StudyFacts, 'gpus' | 'gpusNamed'> & { readonly why?: string }> {
  if (asked !== undefined) return { gpus: gpusAskedFor(asked), gpusNamed: true };
  const { gpus, hidden, problem } = await findGpus(environment, signal);
  if (gpus.length > 0) return { gpus };
  const why = problem ? `${problem.place}: ${problem.message}` : hidden && `${hidden.by} hides all of them`;
  return { gpus, why: why ?? 'none was found here' };
}

/**
 * What can be told of a model; nothing where its hub is out of reach or does not know it. Throws an InputError for a file
 * or a folder that is not whole.
 */
export async function modelFacts(
  model: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<Pick<StudyFacts, 'shape' | 'weightBytes'>> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(hubTimeoutS * 1000)]);
  const { kind } = readReference(model, environment);
  const isHere = kind === 'folder' || kind === 'gguf';
  if (isHere) {
    const problems = await localModelProblems(model, environment);
    if (problems.length > 0) throw new InputError(problems);
    await resolveCheckpoint(model, environment, within);
  }
  try {
    const shape = await modelShape(model, environment, within);
    if (shape === null) return {};
    const { bytes } = await resolveCheckpoint(model, environment, within);
    return { shape, weightBytes: bytes };
  } catch (error) {
    signal.throwIfAborted();
    if (within.aborted || error instanceof ServetuneError) return {};
    throw error;
  }
}
