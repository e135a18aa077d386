import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf, systemCode } from '../kit/errors.ts';
import { formatBytes } from '../kit/words.ts';
import { failure } from './failure.ts';

/** What a user can do about a download that does not work out. */
export interface Remedy {
  /** What to do where the file cannot be had; it follows every failure. */
  readonly remedy: string;
  /** The variable that moves the files to another disk (`SERVETUNE_CACHE`, `HF_HOME`). */
  readonly cacheVariable: string;
}

/**
 * Does something with the file `path`. Throws a ServetuneError `disk_full` or `cache_not_writable` in place of what the
 * system throws.
 */
export async function onDisk<T>(action: () => T | Promise<T>, path: string, remedy: Remedy): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const code = systemCode(error);
    const full = code === 'ENOSPC' || code === 'EDQUOT';
    // `ulimit -f`, and file systems that hold no file as large as this one.
    const tooLarge = code === 'EFBIG';
    const message = full
      ? `the disk under ${dirname(path)} is full`
      : tooLarge
        ? `no file may grow so large under ${dirname(path)} (ulimit -f, or the file system)`
        : `${path} cannot be written: ${messageOf(error)}`;
    throw failure(full || tooLarge ? 'disk_full' : 'cache_not_writable', message, spaceHint(remedy), error);
  }
}

/** Throws a ServetuneError `disk_full` where the disk of `path` cannot take `bytes` more. */
export async function checkSpace(path: string, bytes: number, remedy: Remedy): Promise<void> {
  const free = await freeBytes(dirname(path));
  if (free === null || free >= bytes) return;
  const [need, have] = [formatBytes(bytes, 'en'), formatBytes(free, 'en')];
  throw failure(
    'disk_full',
    `${need} are to be written, and the disk of ${dirname(path)} has room for ${have}`,
    spaceHint(remedy),
  );
}

/** Bytes that a user may still write below `folder`, which need not exist yet; null where the system does not tell. */
export async function freeBytes(folder: string): Promise<number | null> {
  const parent = dirname(folder);
  const disk = await statfs(folder).catch(() => null);
  if (disk !== null) return disk.bavail * disk.bsize;
  return parent === folder ? null : freeBytes(parent);
}

/** Size of a file, bytes; null where there is none. Links are followed. */
export const sizeOf = (path: string): Promise<number | null> =>
  stat(path).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );

const spaceHint = ({ cacheVariable, remedy }: Remedy): string =>
  `make room and run the command again, set ${cacheVariable} to a folder on another disk, or ${remedy}`;
