import type { Environment } from '../engines/engine.ts';
import type { Gpu } from '../records/gpu.ts';
import type { ModelShape } from '../records/model-shape.ts';
import type { SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import { gpusOf } from '../telemetry/gpus.ts';
import { modelShape } from '../weights/shape.ts';
import { type DraftOptions, draftStudy } from './init.ts';
import { parseStudy, readStudy, type StudyFile } from './read.ts';
import { type KnownFacts, resolveStudy } from './resolve.ts';
import { gpusOfHardware, hardwareOf, shapeOf } from './simulated/hardware.ts';
import { asSimulated, isSimulated, type SimulatedOptions, withVersions } from './simulated/study.ts';

/** A study, and what it searches on this machine. */
export interface LoadedStudy {
  readonly file: StudyFile;
  readonly space: SearchSpace;
  /** Those of this machine; not looked for (empty) where engines need not be installed. */
  readonly gpus: readonly Gpu[];
  /** The model's, where it is known. */
  readonly shape: ModelShape | null;
}

/** How a study is resolved (`resolveStudy`). */
export interface LoadOptions {
  readonly mustBeInstalled?: boolean;
  /**
   * Whether the run of this study began before. Its flags were checked then, and `tune` goes on only with the same study
   * and the same versions: the engines are not asked for their flags again.
   */
  isBegun?(study: StudySpec): boolean;
  /** Simulates the study, wherever its engines would be started. */
  readonly simulated?: SimulatedOptions;
  /** Told what is being looked at. */
  onLook?(what: string): void;
}

/** What this machine and the model are known to be goes into the rules; on a dry run they may be another machine's. */
async function resolved(
  file: StudyFile,
  environment: Environment,
  signal: AbortSignal,
  { mustBeInstalled = true, isBegun, onLook, simulated }: LoadOptions,
  found: Pick<KnownFacts, 'gpus' | 'shape'> = {},
): Promise<LoadedStudy> {
  const virtual = simulated === undefined ? file : asSimulated(file, simulated);
  if (isSimulated(virtual.study)) return await resolvedSimulated(withVersions(virtual), environment, signal);
  const gpus = mustBeInstalled ? (found.gpus ?? (await gpusOf(environment, signal))) : [];
  const shape = gpus.length > 0 ? (found.shape ?? (await modelShape(file.study.model, environment, signal))) : null;
  const known = { gpus, ...(shape ? { shape } : {}) };
  const flagsChecked = isBegun?.(file.study) ?? false;
  const space = await resolveStudy(file, environment, signal, {
    known,
    mustBeInstalled,
    flagsChecked,
    ...(onLook ? { onLook } : {}),
  });
  return { file, space, gpus, shape };
}

/** The rules are those of the hardware that it is simulated on; no engine has to be here. */
async function resolvedSimulated(file: StudyFile, environment: Environment, signal: AbortSignal): Promise<LoadedStudy> {
  const known = { gpus: gpusOfHardware(hardwareOf(file)), shape: await shapeOf(file, environment, signal) };
  return {
    file,
    space: await resolveStudy(file, environment, signal, { known, mustBeInstalled: false }),
    gpus: [],
    shape: known.shape,
  };
}

/** The study that a model gets when nobody has written one: see `draftStudy`. */
export async function loadDefaultStudy(
  model: string,
  environment: Environment,
  signal: AbortSignal,
  { draft = {}, ...options }: LoadOptions & { readonly draft?: DraftOptions } = {},
): Promise<LoadedStudy> {
  const { text, facts } = await draftStudy(model, draft, environment, signal);
  return await resolved(parseStudy(text, `the default study of ${model}`), environment, signal, options, facts);
}

/** Reads a study and resolves it, without touching the disk: what `--dry-run` and the run itself begin with. */
export async function loadStudy(
  path: string,
  environment: Environment,
  signal: AbortSignal,
  options: LoadOptions = {},
): Promise<LoadedStudy> {
  return await resolved(readStudy(path), environment, signal, options);
}
