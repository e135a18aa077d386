import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { exitCodes, messageOf, ServetuneError, systemCode } from '../kit/errors.ts';
import { makeFolder } from '../kit/files.ts';
import type { RequestRecord } from '../records/request.ts';

/** The file of a load's records, one JSON object a line, written while the load runs. */
export interface Journal {
  /** Hands a record over; it is on its way to the file before the event loop turns again. Never throws. */
  add(record: RequestRecord): void;
  /** Waits until everything is on the disk. Throws what went wrong, also earlier. */
  close(): Promise<void>;
}

/**
 * Opens a journal; an older file of that name is replaced, so that records of two loads never mix. Records are written
 * on another thread, so that a slow disk does not make the load late. `onFailure` is called once, as soon as a write
 * fails, with a ServetuneError (`disk_full`, `records_unwritable`); opening throws the same.
 */
export async function openJournal(path: string, onFailure: (error: ServetuneError) => void): Promise<Journal> {
  let file: FileHandle;
  try {
    makeFolder(dirname(path));
    file = await open(path, 'w');
  } catch (error) {
    throw unwritable(path, error);
  }
  let waiting: RequestRecord[] = [];
  let writing: Promise<void> | undefined;
  let failure: ServetuneError | undefined;

  const fail = (error: unknown): void => {
    if (failure) return;
    failure = unwritable(path, error);
    onFailure(failure);
  };
  const writeAll = async (): Promise<void> => {
    while (waiting.length > 0 && !failure) {
      const lines = waiting.map((record) => `${JSON.stringify(record)}\n`).join('');
      waiting = [];
      await file.appendFile(lines);
    }
  };
  const start = (): void => {
    writing ??= writeAll()
      .catch(fail)
      .finally(() => {
        writing = undefined;
      });
  };

  return {
    add(record) {
      waiting.push(record);
      // Not at once: the events that the same read brought to other requests come first.
      if (waiting.length === 1 && !writing) setImmediate(start);
    },
    async close() {
      try {
        while (!failure && (waiting.length > 0 || writing)) {
          start();
          await writing;
        }
        if (!failure) await sync(file);
      } catch (error) {
        fail(error);
      } finally {
        await file.close().catch(fail);
      }
      if (failure) throw failure;
    },
  };
}

/** Forces the file onto the disk; what is not a regular file (a pipe, /dev/null) cannot be and need not. */
async function sync(file: FileHandle): Promise<void> {
  try {
    await file.sync();
  } catch (error) {
    if (systemCode(error) !== 'EINVAL' && systemCode(error) !== 'ENOTSUP') throw error;
  }
}

function unwritable(path: string, error: unknown): ServetuneError {
  const code = systemCode(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ServetuneError('disk_full', `no space left to write the records to ${path}`, {
      hint: 'free some space; what was written so far is kept (a study goes on with --resume)',
      exitCode: exitCodes.badInput,
      cause: error,
    });
  }
  return new ServetuneError('records_unwritable', `cannot write the records to ${path}: ${messageOf(error)}`, {
    hint: 'choose a directory for the results that can be written',
    exitCode: exitCodes.badInput,
    cause: error,
  });
}
