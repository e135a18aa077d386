import { boundedText } from '../../kit/bounded-text.ts';
import { InputError, messageOf, type Problem, ServetuneError } from '../../kit/errors.ts';
import { findProgram } from '../../processes/programs.ts';
import type { Gpu } from '../../records/gpu.ts';
import { modelShape } from '../../weights/shape.ts';
import { versionAt } from '../attached.ts';
import { otherVersion, placeLabel } from '../look.ts';
import { askAt, checkHost, type DeclaredEngine, declaredEngine, engineNamed, imageOf, packagesOf } from '../places.ts';
import type { StudyFile } from '../read.ts';
import { resolveStudy } from '../resolve.ts';
import { modelListUrl } from '../target.ts';
import { checkpointsOf } from '../weights.ts';
import { answerOf, computesOnCpu } from './engines.ts';
import { type Finding, note, ok, problem } from './finding.ts';

type Environment = Readonly<Record<string, string>>;

/** Longest that a server that runs already may take to answer, seconds. */
const answerTimeoutS = 5;

/**
 * What a study would meet here: each engine where it would be started, its interpreter or image, its settings on these
 * GPUs, and its weights. Nothing is installed, pulled or downloaded.
 */
export async function studyFindings(
  file: StudyFile,
  {
    environment,
    signal,
    gpus,
  }: { readonly environment: Environment; readonly signal: AbortSignal; readonly gpus: readonly Gpu[] },
): Promise<readonly Finding[]> {
  const declared = file.study.engines.map(declaredEngine);
  const shape = await modelShape(file.study.model, environment, signal);
  const known = { gpus, ...(shape ? { shape } : {}) };
  try {
    const space = await resolveStudy(file, environment, signal, { mustBeInstalled: false, known });
    const found = await Promise.all(declared.map((entry) => entryFinding(entry, environment, signal, gpus.length)));
    const weights = await refusalsOf(checkpointsOf(file.study, space, environment, signal), signal);
    // The model itself is looked at besides.
    return [...found, ...weights.filter(({ message }) => !message.startsWith(`model ${file.study.model}: `))];
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof InputError)) throw error;
    return error.problems.map(findingOf);
  }
}

const findingOf = ({ place, message, hint }: Problem): Finding =>
  problem('study', `${place}: ${message}`, hint ?? 'correct it in the file');

async function refusalsOf(attempt: Promise<unknown>, signal: AbortSignal): Promise<readonly Finding[]> {
  try {
    await attempt;
    return [];
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InputError) return error.problems.map(findingOf);
    if (error instanceof ServetuneError) return [problem('study', error.message, error.hint ?? 'check the model')];
    throw error;
  }
}

async function entryFinding(
  entry: DeclaredEngine,
  environment: Environment,
  signal: AbortSignal,
  gpuCount: number,
): Promise<Finding> {
  const what = placeLabel(entry);
  try {
    if (entry.url !== undefined) return await serverFinding(what, entry.url, signal);
    const finding =
      entry.host === 'uv'
        ? uvFinding(what, entry, environment)
        : entry.host === 'docker'
          ? await imageFinding(what, entry, environment, signal)
          : await installedFinding(what, entry, environment, signal);
    const version = entry.version ?? finding.message;
    if (finding.mark === 'problem' || gpuCount > 0 || computesOnCpu(engineNamed(entry.name), version)) return finding;
    return problem(what, `${finding.message}; no GPU was found that it could use`, 'run the study where the GPUs are');
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ServetuneError)) throw error;
    const [first = { message: messageOf(error), hint: error.hint }] = error instanceof InputError ? error.problems : [];
    return problem(what, first.message, first.hint ?? 'look at how it is installed');
  }
}

async function installedFinding(
  what: string,
  entry: DeclaredEngine,
  environment: Environment,
  signal: AbortSignal,
): Promise<Finding> {
  const found = await engineNamed(entry.name).version(askAt(entry, environment, signal));
  if (entry.version === undefined || entry.version === found) return ok(what, found);
  const { message, hint } = otherVersion(entry, found, '');
  return problem(what, message, hint ?? 'leave the version out');
}

function uvFinding(what: string, entry: DeclaredEngine, environment: Environment): Finding {
  checkHost(entry, environment);
  return ok(what, `uv installs ${packagesOf(entry).join(' ')} before the study, unless it did before`);
}

async function imageFinding(
  what: string,
  entry: DeclaredEngine,
  environment: Environment,
  signal: AbortSignal,
): Promise<Finding> {
  const image = imageOf(entry) ?? '';
  if (findProgram('docker', environment.PATH) === null) {
    return problem(what, 'docker is not installed, or not on PATH', 'install Docker, or use host local or uv');
  }
  const engine = await answerOf(['docker', 'version', '--format', '{{.Server.Version}}'], environment, signal);
  if (engine.text === null) return problem(what, `docker cannot be used: ${engine.why}`, 'see docker version');
  const held = await answerOf(['docker', 'image', 'inspect', '--format', '{{.Id}}', image], environment, signal);
  if (held.text !== null) return ok(what, `${image} is here`);
  return note(what, `${image} is not here: it is pulled before the study`, `docker pull ${image}, to have it now`);
}

async function serverFinding(what: string, url: string, signal: AbortSignal): Promise<Finding> {
  const version = await versionAt(new URL(url), signal);
  if (version !== undefined) return ok(what, `${url} answers, version ${version}`);
  const within = AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutS * 1000)]);
  try {
    const response = await fetch(modelListUrl(new URL(url)), { signal: within });
    await boundedText(response, 1 << 20);
    if (response.ok) return ok(what, `${url} answers`);
    return problem(what, `${url} answers ${response.status}`, 'start the server, or correct its url');
  } catch {
    signal.throwIfAborted();
    return problem(what, `nothing answers at ${url}`, 'start the server, or correct its url');
  }
}
