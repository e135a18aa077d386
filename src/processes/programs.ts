import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * The file that starting `name` would run, as an absolute path, or null: `name` itself when it has a slash, else the
 * first executable of that name on `path` (the value of PATH; without one the system's own default).
 */
export function findProgram(name: string, path: string | undefined, cwd = '.'): string | null {
  if (name === '') return null;
  const candidates = name.includes('/')
    ? [resolve(cwd, name)]
    : (path ?? '/usr/bin:/bin').split(':').map((folder) => resolve(cwd, folder, name));
  return candidates.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
