import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InputError, type Problem } from '../kit/errors.ts';
import { ownArguments } from '../kit/invocation.ts';
import { findProgram } from '../processes/programs.ts';
import type { Command, Host, HostedCommand, Place } from './host.ts';

/** What `servetune` runs, whether this module runs from `src/hosts/` or from `dist/hosts/`. */
const ourProgram = fileURLToPath(new URL('../../bin/servetune.cjs', import.meta.url));

/**
 * This machine. `servetune` and `npx servetune` are this very program and are started as such, with the same Node: npx
 * would put processes of its own between, and might fetch another version than the one that is measuring.
 */
export const local: Host = {
  name: 'local',
  description: 'this machine: engines found on PATH, or in the virtual environment whose python is named',
  wrap(command, place) {
    const own = ownArguments(command.argv);
    if (own !== undefined) return { argv: [process.execPath, ourProgram, ...own], env: command.env };
    return place.python === undefined ? onPath(command, place) : inEnvironment(command, place.python, place);
  },
  shown(command, { python }, environment) {
    const [name = '', ...args] = command.argv;
    if (python === undefined || name.includes('/') || ownArguments(command.argv) !== undefined) return command;
    const path = absolute(python, environment);
    return { ...command, argv: [isInterpreter(name) ? path : join(dirname(path), name), ...args] };
  },
};

function onPath({ argv, env }: Command, { isPython }: Place): HostedCommand {
  const [name = '', ...args] = argv;
  const program = findProgram(name, env.PATH);
  if (program === null) {
    throw refusal(
      name.includes('/')
        ? {
            message: `${name} does not exist, or may not be executed`,
            hint: 'correct the path, or make the file executable',
          }
        : {
            message: `${name} is not installed, or not on PATH`,
            hint: `install ${name}, or put the folder that holds it on PATH${isPython === false ? '' : inPython}`,
          },
    );
  }
  return { argv: [program, ...args], env };
}

const inPython = ' (in a Python environment: activate it, or name its interpreter as python:)';

/**
 * What activating the environment would do, without a shell. A program that the environment lacks is refused: one of
 * the same name elsewhere on PATH would be another engine than the one that the study names.
 */
function inEnvironment({ argv, env }: Command, named: string, { engine }: Place): HostedCommand {
  const [name = '', ...args] = argv;
  const python = interpreter(named, env);
  const folder = dirname(python);
  const program = isInterpreter(name) ? python : findProgram(name.includes('/') ? name : join(folder, name), '');
  if (program === null) {
    throw refusal({
      message: `there is no ${name.includes('/') ? name : join(folder, name)}`,
      hint: `install the engine there: uv pip install --python ${python} ${engine}; or name another python`,
    });
  }
  const { PYTHONHOME: _, VIRTUAL_ENV: __, ...kept } = env; // both speak of another environment
  const root = dirname(folder);
  return {
    argv: [program, ...args],
    env: {
      ...kept,
      PATH: `${folder}:${env.PATH ?? '/usr/bin:/bin'}`,
      ...(existsSync(join(root, 'pyvenv.cfg')) ? { VIRTUAL_ENV: root } : {}),
    },
  };
}

const isInterpreter = (program: string): boolean => /^python3?$/.test(program);

const absolute = (path: string, env: Readonly<Record<string, string>>): string =>
  resolve(path.replace(/^~(?=\/)/, env.HOME ?? homedir()));

/** The interpreter's path, links left alone: Python tells by the path that it runs in a virtual environment. */
function interpreter(named: string, env: Readonly<Record<string, string>>): string {
  const path = absolute(named, env);
  if (findProgram(path, '') !== null) return path;
  const within = join(path, 'bin', 'python');
  throw refusal(
    statSync(path, { throwIfNoEntry: false })?.isDirectory()
      ? { message: `python: ${path} is a folder`, hint: `name the interpreter in it: ${within}` }
      : {
          message: `python: ${path} does not exist, or may not be executed`,
          hint: 'name the interpreter of the virtual environment that the engine is installed in: /opt/vllm/bin/python',
        },
  );
}

const refusal = (problem: Omit<Problem, 'place'>): InputError => new InputError([{ place: 'host local', ...problem }]);
