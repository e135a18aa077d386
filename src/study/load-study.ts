import type { Environment } from '../engines/engine.ts';
import type { SearchSpace } from '../records/space.ts';
import { gpusOf } from '../telemetry/gpus.ts';
import { modelShape } from '../weights/shape.ts';
import { draftStudy } from './init.ts';
import { parseStudy, readStudy, type StudyFile } from './read.ts';
import { resolveStudy } from './resolve.ts';

/** A study, and what it searches on this machine. */
export interface LoadedStudy {
  readonly file: StudyFile;
  readonly space: SearchSpace;
}

type ResolveOptions = NonNullable<Parameters<typeof resolveStudy>[3]>;

/** What this machine and the model are known to be goes into the rules; on a dry run they may be another machine's. */
async function resolved(
  file: StudyFile,
  environment: Environment,
  signal: AbortSignal,
  options: ResolveOptions,
): Promise<LoadedStudy> {
  const { mustBeInstalled = true } = options;
  const gpus = mustBeInstalled ? await gpusOf(environment, signal) : [];
  const shape = mustBeInstalled && gpus.length > 0 ? await modelShape(file.study.model, environment, signal) : null;
  const known = { gpus, ...(shape ? { shape } : {}) };
  return { file, space: await resolveStudy(file, environment, signal, { known, ...options }) };
}

/** The study that a model gets when nobody has written one: see `draftStudy`. */
export async function loadDefaultStudy(
  model: string,
  environment: Environment,
  signal: AbortSignal,
  options: ResolveOptions = {},
): Promise<LoadedStudy> {
  const { text } = await draftStudy(model, {}, environment, signal);
  return await resolved(parseStudy(text, `the default study of ${model}`), environment, signal, options);
}

/** Reads a study and resolves it, without touching the disk: what `--dry-run` and the run itself begin with. */
export async function loadStudy(
  path: string,
  environment: Environment,
  signal: AbortSignal,
  options: ResolveOptions = {},
): Promise<LoadedStudy> {
  return await resolved(readStudy(path), environment, signal, options);
}
