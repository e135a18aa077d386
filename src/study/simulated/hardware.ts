import type { Environment } from '../../engines/engine.ts';
import { gpuNamed, gpus, type Hardware } from '../../hardware/gpus.ts';
import { type CompleteShape, completeShape } from '../../hardware/model.ts';
import { modelNamed } from '../../hardware/models.ts';
import { InputError } from '../../kit/errors.ts';
import type { Gpu } from '../../records/gpu.ts';
import type { Machine } from '../../records/run.ts';
import { modelShape } from '../../weights/shape.ts';
import type { StudyFile } from '../read.ts';

/** Compute capabilities of NVIDIA's GPUs, by the beginning of their names. */
const capabilities: readonly (readonly [RegExp, number])[] = [
  [/^A100/, 80],
  [/^(RTX 4\d{3}|L40S|L4|L20|L40)\b/, 89],
  [/^(H100|H200|H20|H800|GH200)/, 90],
  [/^(B200|GB200)/, 100],
  [/^B300/, 103],
  [/^RTX 5\d{3}/, 120],
];

/** What a study is simulated on. */
export interface SimulatedHardware {
  readonly hardware: Hardware;
  readonly count: number;
}

/** The hardware that a study names. Throws an InputError where it names none, or one that is not known. */
export function hardwareOf({ study, place }: Pick<StudyFile, 'study' | 'place'>): SimulatedHardware {
  const known = gpus.map(({ name }) => name).join(', ');
  if (study.hardware === undefined) {
    throw new InputError([
      {
        place: place(['hardware']),
        message: 'is missing: nothing can be predicted without the GPU that it is for',
        hint: `add hardware: { gpu: H100 SXM } to the study, or give --gpu; known: ${known}`,
      },
    ]);
  }
  const hardware = gpuNamed(study.hardware.gpu);
  if (hardware === null) {
    const message = `no figures are known of the GPU “${study.hardware.gpu}”`;
    throw new InputError([{ place: place(['hardware', 'gpu']), message, hint: `known: ${known}` }]);
  }
  return { hardware, count: study.hardware.count };
}

/** The GPUs as records, so that an engine's rules say of them what they would say of real ones. */
export function gpusOfHardware({ hardware, count }: SimulatedHardware): readonly Gpu[] {
  const { name, memoryBytes, powerCapW } = hardware;
  const capability = capabilities.find(([pattern]) => pattern.test(name))?.[1] ?? null;
  return Array.from({ length: count }, (_, index) => ({
    vendor: /^MI\d/.test(name) ? 'amd' : 'nvidia',
    index,
    uuid: `simulated-${index}`,
    name,
    memoryMiB: Math.round(memoryBytes / 2 ** 20),
    computeCapability: capability,
    driver: '',
    powerLimitW: powerCapW,
  }));
}

/** The machine of a simulated run: it has these GPUs, and nothing else of it matters. */
export const machineOfHardware = (on: SimulatedHardware): Machine => ({
  os: 'simulated',
  cpu: 'simulated',
  cores: 0,
  memoryBytes: 0,
  gpus: gpusOfHardware(on).map(({ name, memoryMiB }) => `${name}, ${memoryMiB} MiB, simulated`),
  node: process.version,
});

/**
 * The shape of a model: from its `config.json` where that is here, else from the table of known models, else from the
 * hub. Throws an InputError where it cannot be had.
 */
export async function shapeOf(
  { study, place }: Pick<StudyFile, 'study' | 'place'>,
  environment: Environment,
  signal: AbortSignal,
): Promise<CompleteShape> {
  const { model } = study;
  const offline = { ...environment, HF_HUB_OFFLINE: '1' };
  const found =
    (await modelShape(model, offline, signal)) ??
    modelNamed(model)?.shape ??
    (await modelShape(model, environment, signal));
  const shape = found && completeShape(found);
  if (shape) return shape;
  throw new InputError([
    {
      place: place(['model']),
      message: `the shape of ${model} is not known, so nothing can be predicted of it`,
      hint: 'name a folder with its config.json, or a model whose config.json is on the hub',
    },
  ]);
}
