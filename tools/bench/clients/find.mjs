// Where programs are, and which version they have.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';

/**
 * A console script of a Python package: at `path` when that is given (an Error when it is not there), else on the PATH;
 * undefined when it is nowhere. `version` is that of the package in the script's own Python.
 */
export function findPython(name, path) {
  const program = path === undefined ? onPath(name) : resolve(path);
  if (path !== undefined && !isProgram(program)) throw new Error(`--${name} ${path}: there is no such program`);
  if (program === undefined) return undefined;
  return { program, version: packageVersion(name, program) };
}

function onPath(name) {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isProgram);
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** `vllm --version` needs a GPU, and the other two take seconds: the package's metadata needs neither. */
function packageVersion(name, program) {
  const script = 'import sys; from importlib.metadata import version; print(version(sys.argv[1]))';
  for (const python of [interpreter(program), join(dirname(program), 'python')]) {
    try {
      return execFileSync(python, ['-c', script, name], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim();
    } catch {
      // Not a script of that Python.
    }
  }
  return 'of unknown version';
}

/** The Python that a console script runs in. */
export function interpreter(program) {
  return /^#!(\S+)/.exec(readFileSync(program, 'latin1'))?.[1] ?? 'python3';
}
