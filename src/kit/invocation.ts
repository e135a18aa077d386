import { basename, delimiter, dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How this program was called, as far as it decides how it is called again. */
export interface Called {
  /** The program's own path as it was called, links not followed. */
  readonly script: string | undefined;
  /** Folder of this package. */
  readonly root: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * The words that call this program again from the same shell: `servetune` where that is a program on PATH, and
 * `npx servetune` in a clone, in a project that has it as a dependency, and where npx called it. Elsewhere npx would ask
 * the public registry for that name.
 */
export function invocationOf({ script = '', root, cwd, environment }: Called): readonly string[] {
  const throughNpm = environment.npm_command !== undefined;
  const onPath = (environment.PATH ?? '').split(delimiter).includes(dirname(script));
  if (!throughNpm && basename(script) === 'servetune' && onPath) return ['servetune'];
  const installed = basename(dirname(root)) === 'node_modules';
  const ofProject = installed && (cwd + sep).startsWith(dirname(dirname(root)) + sep);
  return !installed || ofProject || throughNpm ? ['npx', 'servetune'] : ['servetune'];
}

/** How this very program is called again. */
export const invocation = invocationOf({
  script: process.argv[1],
  root: fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, ''),
  cwd: process.cwd(),
  environment: process.env,
});

/** A command line of this program, as text: `tune study.yaml` as `npx servetune tune study.yaml`. */
export const invoked = (rest: string): string => `${invocation.join(' ')} ${rest}`;

/** Whether a command calls this program, in either way; the words after it. */
export function ownArguments(argv: readonly string[]): readonly string[] | undefined {
  if (argv[0] === 'npx' && argv[1] === 'servetune') return argv.slice(2);
  return argv[0] === 'servetune' ? argv.slice(1) : undefined;
}
