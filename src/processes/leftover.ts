import { join } from 'node:path';
import { writeFileAtomic } from '../kit/files.ts';
import type { MarkedProcess } from './mark.ts';

/** The file in the folder of a trial that names its engine's processes. */
export const noteName = 'engine.json';

/** Notes a process in a folder, for the case that neither its owner nor its watchdog lives to end it (`leftoverIn`). */
export const rememberProcess = (dir: string, { pid, startTime, mark }: MarkedProcess): void =>
  writeFileAtomic(join(dir, noteName), `${JSON.stringify({ pid, startTime, mark })}\n`);
