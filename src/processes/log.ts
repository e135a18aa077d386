import { appendFileSync, closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { exitCodes, messageOf, ServetuneError, systemCode } from '../kit/errors.ts';
import { makeFolder } from '../kit/files.ts';

/** No log line worth showing is longer than this in all. */
const tailBytes = 256 * 1024;

/** A log file that programs write to by themselves, so nothing is lost when we end before they do. */
export interface Log extends Disposable {
  readonly path: string;
  /** Open for appending until the log is disposed, which does not disturb whoever inherited it. */
  readonly fd: number;
  /** The last lines written since it was opened, without terminal codes and without what a carriage return overwrote. */
  tail(lines: number): readonly string[];
  /** Adds a line of ours; a full disk is no reason to fail. */
  note(text: string): void;
}

/** Opens (and creates, with its folders) a log. Throws a ServetuneError: `disk_full`, `log_not_writable`. */
export function openLog(logPath: string): Log {
  const path = resolve(logPath);
  let fd: number;
  try {
    makeFolder(dirname(path));
    fd = openSync(path, 'a');
  } catch (error) {
    const code = systemCode(error) ?? '';
    const isFull = code === 'ENOSPC' || code === 'EDQUOT';
    const name = isFull ? 'disk_full' : 'log_not_writable';
    throw new ServetuneError(name, `the log ${path} cannot be opened: ${messageOf(error)}`, {
      hint: remedies[code] ?? 'look at the path and its permissions, or name another run directory',
      ...(isFull ? { exitCode: exitCodes.badInput } : {}),
      cause: error,
    });
  }
  const beganAt = fstatSync(fd).size;
  return {
    path,
    fd,
    tail: (lines) => tailOf(path, beganAt, lines),
    note(text) {
      try {
        appendFileSync(path, `servetune: ${text}\n`);
      } catch {
        // See above.
      }
    },
    [Symbol.dispose]: () => closeSync(fd),
  };
}

const remedies: Readonly<Record<string, string>> = {
  ENOSPC: 'free space on that disk, or name a run directory on another one',
  EDQUOT: 'your quota on that disk is used up: free space, or name a run directory on another one',
  EACCES: 'this user may not write there: change the permissions, or name another run directory',
  EROFS: 'that disk is mounted read-only: name another run directory',
  EISDIR: 'a directory of that name is in the way: remove it, or name another run directory',
  EMFILE: 'too many files are open: raise the limit (ulimit -n)',
};

function tailOf(path: string, fromByte: number, lines: number): readonly string[] {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return []; // removed meanwhile
  }
  try {
    const size = fstatSync(fd).size;
    const start = Math.max(fromByte, size - tailBytes);
    const buffer = Buffer.alloc(Math.max(0, size - start));
    const length = readSync(fd, buffer, 0, buffer.length, start);
    const all = buffer.toString('utf8', 0, length).split(/\r?\n/);
    if (start > fromByte) all.shift(); // begins in the middle of a line, perhaps of a character
    if (all.at(-1) === '') all.pop();
    return all.slice(Math.max(0, all.length - lines)).map(visible);
  } finally {
    closeSync(fd);
  }
}

/** What a terminal would show of a line: a progress bar goes back to the start and writes itself again. */
const visible = (line: string): string => stripVTControlCharacters(line).replace(/\r+$/, '').split('\r').at(-1) ?? '';
