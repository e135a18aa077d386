import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from './errors.ts';

/**
 * Writes a file so that a reader sees the old content or the new, never a half: into a sibling, then renamed.
 * Creates the folders above it. Throws what the system throws (`ENOSPC`, `EACCES`); the sibling is removed then.
 */
export function writeFileAtomic(path: string, content: string | Uint8Array): void {
  makeFolder(dirname(path));
  const sibling = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    writeFileSync(sibling, content, { flush: true });
    renameSync(sibling, path);
  } catch (error) {
    rmSync(sibling, { force: true });
    throw error;
  }
}

/**
 * Makes a folder and those above it; one that is there already is fine. Throws what the system throws. Node's own
 * `recursive` never returns where a folder exists but takes no new ones (`/proc`).
 */
export function makeFolder(path: string): void {
  const parent = dirname(path);
  try {
    mkdirSync(path);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' && parent !== path) {
      makeFolder(parent);
      mkdirSync(path);
    } else if (code !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}
