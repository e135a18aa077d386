import { randomBytes } from 'node:crypto';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { exitCodes, messageOf, ServetuneError, systemCode } from '../../../kit/errors.ts';
import { makeFolder } from '../../../kit/files.ts';

/** A writer that is alive has written within this time; an older unfinished file was left by one that was killed. */
const abandonedAfterS = 600;

/** A write that the system refused, in words that say what to do. Any other error stays what it is. */
function explained(error: unknown, path: string): unknown {
  const hint = 'set SERVETUNE_CACHE to a folder that can be written and has room';
  switch (systemCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return new ServetuneError('disk_full', `no room left on the disk to write ${path}`, {
        hint: `free some space, or ${hint}`,
        exitCode: exitCodes.badInput,
        cause: error,
      });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'ENOENT':
      return new ServetuneError('cache_not_writable', `cannot write ${path}: ${messageOf(error)}`, {
        hint,
        exitCode: exitCodes.badInput,
        cause: error,
      });
    default:
      return error;
  }
}

async function removeAbandoned(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}.`) || !name.endsWith('.tmp')) continue;
    const changed = await stat(join(folder, name)).catch(() => undefined);
    if (changed && Date.now() - changed.mtimeMs > abandonedAfterS * 1000) await rm(join(folder, name), { force: true });
  }
}

/**
 * Writes a large file piece by piece so that a reader sees all of it or nothing, also when several processes write the
 * same one at once: each into a sibling of its own, flushed and renamed at the end, so the last to finish wins.
 * Creates the folders above it. Whatever fails, the sibling is removed. Throws a ServetuneError `disk_full` or
 * `cache_not_writable`, the signal's reason, or what `fill` throws.
 */
export async function writeNewFile(
  path: string,
  signal: AbortSignal | undefined,
  fill: (write: (bytes: Uint8Array) => Promise<void>) => Promise<void>,
): Promise<void> {
  const sibling = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    makeFolder(dirname(path));
    await removeAbandoned(path);
    const file = await open(sibling, 'wx');
    try {
      await fill(async (bytes) => {
        signal?.throwIfAborted();
        await file.writeFile(bytes);
      });
      signal?.throwIfAborted();
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(sibling, path);
  } catch (error) {
    await rm(sibling, { force: true }).catch(() => undefined);
    throw explained(error, path);
  }
}
