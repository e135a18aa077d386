import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { exitCodes, ServetuneError, systemCode } from './errors.ts';

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

/**
 * Tells whether there still is, under this path, the file that is there now, and not another one of the same name: a
 * file that was opened can be written long after somebody removed it, and all of it is lost in the end.
 */
export function watchFile(path: string): () => boolean {
  const identity = (): string | undefined => {
    try {
      const { dev, ino } = statSync(path, { bigint: true });
      return `${dev} ${ino}`;
    } catch {
      return undefined;
    }
  };
  const before = identity();
  return () => before !== undefined && identity() === before;
}

/**
 * Does something that writes below a folder of a run. Where the disk or a quota is full, it throws a ServetuneError
 * `disk_full`, with exit code 2, in place of what the system throws.
 */
export function onRunDisk<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const code = systemCode(error);
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
    throw diskFull(`${path}: the disk is full`, error);
  }
}

/** That the disk of a run is full. */
export const diskFull = (message: string, cause: unknown): ServetuneError =>
  new ServetuneError('disk_full', message, {
    hint: 'free some space, then go on with --resume; nothing that was measured is lost',
    exitCode: exitCodes.badInput,
    cause,
  });
