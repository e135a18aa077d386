import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InputError, type Problem } from '../kit/errors.ts';
import { findProgram } from '../processes/programs.ts';
import type { Command, Host, HostedCommand, Place } from './host.ts';

/** What `npx servetune` runs, whether this module runs from `src/hosts/` or from `dist/hosts/`. */
const ourProgram = fileURLToPath(new URL('../../bin/servetune.cjs', import.meta.url));

/**
 * This machine. `npx servetune` is this very program and is started as such, with the same Node: npx would put
 * processes of its own between, and might fetch another version than the one that is measuring.
 */
export const local: Host = {
  name: 'local',
  description: 'this machine: engines found on PATH, or in the virtual environment whose python is named',
  wrap(command, place) {
    const { argv, env } = command;
    if (argv[0] === 'npx' && argv[1] === 'servetune') {
      return { argv: [process.execPath, ourProgram, ...argv.slice(2)], env };
    }
    return place.python === undefined ? onPath(command) : inEnvironment(command, place.python, place);
  },
};

function onPath({ argv, env }: Command): HostedCommand {
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
            hint: `install ${name}, or put the folder that holds it on PATH (in a Python environment: activate it, or name its interpreter as python:)`,
          },
    );
  }
  return { argv: [program, ...args], env };
}

/**
 * What activating the environment would do, without a shell. A program that the environment lacks is refused: one of
 * the same name elsewhere on PATH would be another engine than the one that the study names.
 */
function inEnvironment({ argv, env }: Command, named: string, { engine }: Place): HostedCommand {
  const [name = '', ...args] = argv;
  const python = interpreter(named, env);
  const folder = dirname(python);
  const program = /^python3?$/.test(name) ? python : findProgram(name.includes('/') ? name : join(folder, name), '');
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

/** The interpreter's path, links left alone: Python tells by the path that it runs in a virtual environment. */
function interpreter(named: string, env: Readonly<Record<string, string>>): string {
  const path = resolve(named.replace(/^~(?=\/)/, env.HOME ?? homedir()));
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
