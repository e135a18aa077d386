// What the parts have in common: running programs, and one line for what came of each part.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
/** Below the home folder, which reports mask. */
export const defaultWork = join(homedir(), '.cache', 'servetune', 'engines');

/** A part that cannot run on this machine, as opposed to one that failed. */
export class NotHere extends Error {}

/** Runs a program with its output on this terminal; throws unless it ends with 0. */
export function must(argv, options = {}) {
  const [program, ...args] = argv;
  console.error(`$ ${argv.join(' ')}`);
  return new Promise((done, fail) => {
    const child = spawn(program, args, { stdio: 'inherit', ...options });
    child.on('error', (error) => fail(new NotHere(`${program}: ${error.message}`)));
    child.on('exit', (code, signal) => {
      if (code === 0) done();
      else fail(new Error(`${program} ended with ${code ?? signal}`));
    });
  });
}

/** Output of a program that ends with 0; throws with the end of what it said otherwise. */
export function outputOf(argv, options = {}) {
  const [program, ...args] = argv;
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    ...options,
  });
  if (error) throw new NotHere(`${program}: ${error.message}`);
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${`${stdout}${stderr}`.trim().slice(-1500)}`);
  return `${stdout}`;
}

/** Python of an environment that `uv` makes once, for the part that names it. */
export async function environmentWith(work, name, packages, overrides) {
  const folder = join(work, name);
  const python = join(folder, 'bin', 'python');
  if (existsSync(join(folder, 'installed'))) return python;
  mkdirSync(work, { recursive: true });
  await must(['uv', 'venv', '--clear', '--python', process.env.UV_PYTHON ?? '3.12', folder]);
  const extra = overrides === undefined ? [] : ['--overrides', overrides];
  await must(['uv', 'pip', 'install', '--python', python, ...packages, ...extra]);
  mkdirSync(join(folder, 'installed'));
  return python;
}

/** A study from its file to its report; answers the folder of the run. */
export async function study(file, runDir, env) {
  const argv = [process.execPath, join(root, 'bin', 'servetune.cjs'), 'tune', file, '--run', runDir, '--fresh'];
  await must(argv, { env: { ...process.env, ...env } });
  return runDir;
}
