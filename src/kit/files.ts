import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a file so that a reader sees the old content or the new, never a half: into a sibling, then renamed.
 * Creates the folders above it. Throws what the system throws (`ENOSPC`, `EACCES`); the sibling is removed then.
 */
export function writeFileAtomic(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const sibling = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    writeFileSync(sibling, content, { flush: true });
    renameSync(sibling, path);
  } catch (error) {
    rmSync(sibling, { force: true });
    throw error;
  }
}
