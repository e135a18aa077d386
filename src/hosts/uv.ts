import { InputError, type Problem, ServetuneError } from '../kit/errors.ts';
import { findProgram } from '../processes/programs.ts';
import { runToEnd } from '../processes/run.ts';
import type { Command, Host, HostedCommand, Place } from './host.ts';

/** Longest that downloading and installing an engine may take, seconds: several GB on a slow line. */
const installTimeoutS = 4 * 3600;

/**
 * An environment that uv makes for the engine's version and keeps in its cache: the same packages get the same
 * environment, so it is installed once. Indexes, Python version and the like are uv's own matter (`UV_*`).
 */
export const uv: Host = {
  name: 'uv',
  description: 'this machine: an environment for each version of an engine, which uv installs from PyPI',
  wrap: wrapInUv,
  shown: (command, place) =>
    place.packages?.[0] === undefined ? command : { ...command, argv: ['uv', ...toolRun(command.argv, place)] },
  prepare: installWithUv,
};

function wrapInUv({ argv, env }: Command, place: Place): HostedCommand {
  const { engine, version, packages } = place;
  const problems: Problem[] = [];
  const program = findProgram('uv', env.PATH);
  if (program === null) {
    problems.push({
      place: 'host uv',
      message: 'uv is not installed, or not on PATH',
      hint: 'install it (https://docs.astral.sh/uv/, or pip install uv), or use host local',
    });
  }
  const from = packages?.[0];
  if (from === undefined) {
    problems.push(
      version === undefined
        ? {
            place: `engines ${engine}`,
            message: 'no version is named, so uv cannot know what to install',
            hint: `name one: {name: ${engine}, version: X.Y.Z, host: uv}`,
          }
        : {
            place: `engines ${engine}`,
            message: 'it is not to be had from PyPI',
            hint: 'use host local, or host docker if there is an image',
          },
    );
  }
  if (program === null || from === undefined) throw new InputError(problems);
  return { argv: [program, ...toolRun(argv, place)], env };
}

/** The arguments of uv that run a program of an engine's packages. */
function toolRun([name = '', ...args]: Command['argv'], { packages = [], python }: Place): readonly string[] {
  const [from = '', ...others] = packages;
  return [
    'tool',
    'run',
    ...(python === undefined ? [] : ['--python', python]),
    '--from',
    from,
    ...others.flatMap((other) => ['--with', other]),
    // The environment's interpreter. uv has a name of its own for it on every system.
    name === 'python3' ? 'python' : name,
    ...args,
  ];
}

/**
 * Installs an engine's environment, so that no download falls into the time of a start or of a question. Quick when it
 * is there. Throws an InputError as `wrap` does, and a ServetuneError `install_failed` with what uv said.
 */
export async function installWithUv(
  place: Place,
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const { argv, env } = wrapInUv({ argv: ['python', '-c', ''], env: environment }, place);
  const { code, stderr, timedOut } = await runToEnd(argv, { env, timeoutS: installTimeoutS, signal });
  if (code === 0) return;
  const said = timedOut ? `not done after ${installTimeoutS} s` : stderr.trim().split('\n').slice(-8).join('\n');
  throw new ServetuneError('install_failed', `uv cannot install ${place.packages?.join(' ')}: ${said}`, {
    hint: 'look at the network, the indexes (UV_INDEX, UV_EXTRA_INDEX_URL) and the Python version (UV_PYTHON)',
  });
}
