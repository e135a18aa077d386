import { InputError, type Problem } from '../../kit/errors.ts';
import type { StudySpec } from '../../records/study.ts';
import type { Parameters } from '../../simulator/parameters.ts';
import { declaredEngine } from '../places.ts';
import type { StudyFile } from '../read.ts';

/** When every run in virtual time begins: no time of day is part of it, so that it is the same whenever it is run. */
export const epoch = '1970-01-01T00:00:00.000Z';

/** What `--host simulated` is given besides the study. */
export interface SimulatedOptions {
  /** Goes before the hardware that the study names. */
  readonly gpu?: string | undefined;
  readonly gpus?: number | undefined;
  /** Of a calibration, in place of the study's. */
  readonly parameters?: Parameters | undefined;
}

/** Whether a study's figures are predicted: no engine of it is started. */
export const isSimulated = ({ engines }: Pick<StudySpec, 'engines'>): boolean =>
  engines.every((entry) => declaredEngine(entry).host === 'simulated');

/**
 * The versions that stand for an engine of which the study names none: the newest ones whose options and defaults are
 * known here.
 */
const knownVersions: Readonly<Record<string, string>> = {
  vllm: '0.25.1',
  sglang: '0.5.11',
  'tensorrt-llm': '1.2.0',
};

/** The study with every engine simulated, wherever it would have been started, on the hardware that is named. */
export function asSimulated(file: StudyFile, options: SimulatedOptions = {}): StudyFile {
  const engines = file.study.engines.map((entry) => {
    const { name, version, url } = declaredEngine(entry);
    return {
      name,
      host: 'simulated' as const,
      ...(version === undefined ? {} : { version }),
      // It is refused, with the reason.
      ...(url === undefined ? {} : { url }),
    };
  });
  return withHardware({ ...file, study: { ...file.study, engines } }, options);
}

/** The study on other hardware. */
export function withHardware(file: StudyFile, { gpu, gpus, parameters }: SimulatedOptions): StudyFile {
  const named = file.study.hardware;
  const name = gpu ?? named?.gpu;
  if (name === undefined) {
    if (gpus === undefined) return file;
    throw new InputError([{ place: '--gpus', message: 'needs the kind of GPU', hint: 'add --gpu "H100 SXM"' }]);
  }
  // Another kind of GPU says nothing of how many of the named ones there are.
  const count = gpus ?? (gpu === undefined ? named?.count : undefined) ?? 1;
  const fitted = parameters ?? named?.parameters;
  const hardware = { gpu: name, count, ...(fitted === undefined ? {} : { parameters: fitted }) };
  return { ...file, study: { ...file.study, hardware } };
}

/** The study with a version for every simulated engine. */
export function withVersions(file: StudyFile): StudyFile {
  const engines = file.study.engines.map((entry) => {
    const { name, version } = declaredEngine(entry);
    const known = version ?? knownVersions[name];
    if (typeof entry === 'string' || version !== undefined || known === undefined) return entry;
    return { ...entry, version: known };
  });
  return { ...file, study: { ...file.study, engines } };
}

/** Where the figures of a run come from: a server of its own engines, virtual time, or simulated servers in real time. */
export type RunKind = 'measured' | 'virtual' | 'live';

const kinds: Readonly<Record<RunKind, readonly [what: string, hint: string]>> = {
  measured: ['its figures were measured', 'leave --host simulated out'],
  virtual: ['its figures are simulated in virtual time', 'go on with --host simulated, without --live'],
  live: ['its figures are those of simulated servers', 'go on with --host simulated --live'],
};

/** That a run began as another kind; undefined where it did not. */
export function otherKind(
  begun: { readonly simulated: boolean; readonly beganAt: string },
  kind: RunKind,
  runDir: string,
): Problem | undefined {
  const before = !begun.simulated ? 'measured' : begun.beganAt === epoch ? 'virtual' : 'live';
  if (before === kind) return undefined;
  const [what, hint] = kinds[before];
  return {
    place: runDir,
    message: `${what}, and others cannot be added to them`,
    hint: `${hint}, or choose another folder with --run`,
  };
}
