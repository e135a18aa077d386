import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes, InputError, messageOf, ServetuneError, systemCode } from '../kit/errors.ts';
import { diskFull } from '../kit/files.ts';

/** The database in the folder of a run. */
export const databaseFile = 'run.db';

/** Turns what SQLite throws into something that a user can act on. */
export function guarded<T>(dir: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ServetuneError) throw error;
    const code = systemCode(error);
    if (code === 'SQLITE_FULL' || (code?.startsWith('SQLITE_IOERR') && isFull(dir))) {
      throw diskFull(`${dir}: the disk is full`, error);
    }
    if (code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT') {
      throw new InputError([
        {
          place: join(dir, databaseFile),
          message: 'is not a database of a run, or is damaged',
          hint: 'restore it from a copy',
        },
      ]);
    }
    throw new ServetuneError('store_failed', `${join(dir, databaseFile)}: ${messageOf(error)}`, {
      hint: 'check that the folder can be written to',
      exitCode: exitCodes.badInput,
      cause: error,
    });
  }
}

/** Less room than SQLite's smallest files need: it then reports an I/O error instead of a full disk. */
function isFull(dir: string): boolean {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize < 256 * 1024;
}

/**
 * That the folder of a run, or a file in it that must stay, is not any more what it was when the run was opened. What is
 * measured from then on would be written to a file that nobody can open.
 */
export const folderReplaced = (dir: string, file: string): ServetuneError =>
  new ServetuneError('run_folder_replaced', `${dir}: ${file} was removed or replaced while the run was at work`, {
    hint: 'put the folder back and go on with --resume, or start the study again',
    exitCode: exitCodes.badInput,
  });
