import { join } from 'node:path';
import { findAddon } from '../../engines/embedded/addon.ts';
import type { Engine, Environment } from '../../engines/engine.ts';
import { engines } from '../../engines/table.ts';
import { messageOf, ServetuneError } from '../../kit/errors.ts';
import { formatList } from '../../kit/words.ts';
import { findProgram } from '../../processes/programs.ts';
import { runToEnd } from '../../processes/run.ts';
import { askAt } from '../places.ts';
import { type Finding, note, ok, problem } from './finding.ts';

/** An engine as it was found. */
export interface FoundEngine {
  readonly name: string;
  /** As its own installation says. */
  readonly version: string;
  readonly host: 'local' | 'uv' | 'docker';
  /** It can serve on this machine. */
  readonly works: boolean;
}

/** Engines that a study could start, besides a server that runs already. */
const startable: readonly Engine[] = engines.filter(({ name }) => name !== 'external');

/** What an engine's own refusal to tell its version looks like where it is simply not installed. */
const notInstalled =
  /not installed|not on PATH|does not exist|No module named|PackageNotFoundError|No package metadata/i;

/** Which engines are here, in which versions: on PATH, among uv's tools, as container images. */
export async function engineFindings(
  environment: Environment,
  signal: AbortSignal,
  { gpuCount, needsOne = true }: { readonly gpuCount: number /** One must work here. */; readonly needsOne?: boolean },
): Promise<{ readonly findings: readonly Finding[]; readonly found: readonly FoundEngine[] }> {
  const [own, uv, docker] = await Promise.all([
    Promise.all(startable.map((engine) => localEngine(engine, environment, signal, gpuCount))),
    uvFindings(environment, signal),
    dockerFindings(environment, signal),
  ]);
  const found = own.flatMap((one) => one.found ?? []);
  const working = found.filter(({ works }) => works);
  const none = problem(
    'engines',
    'none works here',
    gpuCount > 0
      ? 'pip install vllm, in an environment whose bin folder is on PATH'
      : 'npm install --include=optional brings the embedded engine',
  );
  return {
    found,
    findings: [
      ...own.map(({ finding }) => finding),
      ...uv,
      ...docker,
      ...(working.length === 0 && needsOne ? [none] : []),
    ],
  };
}

interface LocalEngine {
  readonly finding: Finding;
  readonly found?: FoundEngine;
}

/** Asks an engine that is installed on this machine for its version. */
async function localEngine(
  engine: Engine,
  environment: Environment,
  signal: AbortSignal,
  gpuCount: number,
): Promise<LocalEngine> {
  const { name } = engine;
  let version: string;
  try {
    version = await engine.version(askAt({ name, host: 'local' }, environment, signal));
    if (name === 'embedded') await loadEmbedded(environment, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ServetuneError)) throw error;
    const message = messageOf(error).split('\n')[0] as string;
    if (notInstalled.test(message)) return { finding: note(name, 'not installed') };
    return {
      finding: problem(name, message, error.hint ?? `install ${name} again; the last line of its error says why`),
    };
  }
  const works = gpuCount > 0 || computesOnCpu(engine, version);
  const found = { name, version, host: 'local', works } as const;
  if (works) return { finding: ok(name, version), found };
  return { finding: note(name, `${version}, but no GPU was found that it could use`), found };
}

/** An engine that has a number of CPU threads computes there; of vLLM there is a build that does, which says so. */
export const computesOnCpu = (engine: Engine, version: string): boolean =>
  'threads' in engine.settings.shape || /\+cpu\b/.test(version);

/**
 * Loads llama.cpp's library in a process of its own: a C library that is too old shows then only, and it ends the process.
 *
 * @throws ServetuneError with the loader's message
 */
async function loadEmbedded(environment: Environment, signal: AbortSignal): Promise<void> {
  const library = join(findAddon().folder, 'llama-addon.node');
  const argv = [process.execPath, '-e', `process.dlopen({ exports: {} }, ${JSON.stringify(library)})`];
  const { code, stderr } = await runToEnd(argv, { env: environment, timeoutS: 60, signal });
  if (code === 0) return;
  const reason = stderr.split('\n').find((line) => /error/i.test(line)) ?? `ended with ${code}`;
  throw new ServetuneError('engine_broken', `llama.cpp cannot be loaded: ${reason.trim()}`, {
    hint: 'npm install --include=optional, on glibc 2.34 or newer',
  });
}

/** uv, which can install any version on demand, and the engines among its tools. */
async function uvFindings(environment: Environment, signal: AbortSignal): Promise<readonly Finding[]> {
  if (findProgram('uv', environment.PATH) === null) {
    return [note('uv', 'not found: `host: uv` cannot be used', 'https://docs.astral.sh/uv installs it')];
  }
  const version = await answerOf(['uv', '--version'], environment, signal);
  if (version.text === null) return [problem('uv', version.why, 'install uv again')];
  const tools = toolVersions((await answerOf(['uv', 'tool', 'list'], environment, signal)).text ?? '');
  const held = startable.flatMap((engine) => {
    const name = distributionOf(engine);
    return name !== undefined && tools.has(name) ? [`${engine.name} ${tools.get(name)}`] : [];
  });
  const holds = held.length === 0 ? 'no engine among its tools' : `its tools hold ${formatList(held, 'en')}`;
  return [
    ok(
      'uv',
      `${version.text.trim().replace(/^uv /, '').split(' ')[0]}; ${holds}; host: uv installs a version on demand`,
    ),
  ];
}

/** Name and version of each tool in the answer of `uv tool list`; the programs of a tool stand under it, behind a dash. */
export function toolVersions(list: string): ReadonlyMap<string, string> {
  const lines = list.split('\n').flatMap((line) => {
    const match = /^(\w[\w.-]*) v(\d\S*)/.exec(line);
    return match ? [[match[1] as string, match[2] as string] as const] : [];
  });
  return new Map(lines);
}

/** The name of an engine on PyPI; undefined where it is not there. */
function distributionOf(engine: Engine): string | undefined {
  const [first] = engine.packages?.('0') ?? [];
  return first === undefined ? undefined : /^[\w.-]+/.exec(first)?.[0];
}

/** Whether containers can be started, and the engines' images that are here already. */
async function dockerFindings(environment: Environment, signal: AbortSignal): Promise<readonly Finding[]> {
  if (findProgram('docker', environment.PATH) === null)
    return [note('docker', 'not found: `host: docker` cannot be used')];
  const server = await answerOf(['docker', 'version', '--format', '{{.Server.Version}}'], environment, signal);
  if (server.text === null) {
    const denied = /permission denied/i.test(server.why);
    return [
      note(
        'docker',
        `cannot be used: ${server.why}`,
        denied ? 'sudo usermod -aG docker $USER, then log in again' : 'sudo systemctl start docker',
      ),
    ];
  }
  const list = await answerOf(['docker', 'image', 'ls', '--format', '{{.Repository}}:{{.Tag}}'], environment, signal);
  const images = imagesOf(list.text ?? '');
  const holds = images.length === 0 ? 'no engine’s image is here yet' : formatList(images, 'en');
  return [ok('docker', `${server.text.trim()}; ${holds}`)];
}

/** The images of a `docker image ls` that engines start. */
export function imagesOf(list: string): readonly string[] {
  const repositories = startable.flatMap((engine) => engine.image?.('0').replace(/:[^:/]*$/, '') ?? []);
  return list.split('\n').filter((line) => repositories.some((repository) => line.startsWith(`${repository}:`)));
}

/** What a program printed; null with the reason where it failed. */
export async function answerOf(
  argv: readonly string[],
  environment: Environment,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly why?: never } | { readonly text: null; readonly why: string }> {
  try {
    const { code, stdout, stderr, timedOut } = await runToEnd(argv, { env: environment, timeoutS: 30, signal });
    if (code === 0) return { text: stdout };
    if (timedOut) return { text: null, why: 'no answer in 30 s' };
    return { text: null, why: (stderr || stdout).trim().split('\n').at(-1) || `ended with ${code}` };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ServetuneError)) throw error;
    return { text: null, why: messageOf(error) };
  }
}
