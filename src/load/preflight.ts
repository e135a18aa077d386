import { readdirSync, readFileSync } from 'node:fs';
import { InputError } from '../kit/errors.ts';

/** Files that a load opens besides its connections: logs, records, libraries, the answers of a draining server. */
const MARGIN = 64;

/**
 * How many files a process may open: the soft limit, or null when there is none or the system does not tell. Node raises
 * its own soft limit to the hard one when it starts, so this is what is really to be had.
 */
export function openFileLimit(pid: number | 'self' = 'self'): number | null {
  let limits: string;
  try {
    limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  } catch {
    return null;
  }
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  return soft === undefined || soft === 'unlimited' ? null : Number(soft);
}

/** Files that this process has open now; 0 when the system does not tell. */
function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}

/**
 * Throws an InputError when so many connections at once cannot be had: found out beforehand, it is a sentence; found out
 * under load, it is a failure of every request over the limit.
 */
export function checkOpenFiles(concurrency: number, limit: number | null = openFileLimit()): void {
  const needed = concurrency + openFiles() + MARGIN;
  if (limit === null || needed <= limit) return;
  throw new InputError([
    {
      place: '--max-concurrency',
      message: `${concurrency} connections at once need ${needed} open files, and this process may have ${limit}`,
      hint: `run "ulimit -n ${needed}" first, or lower the concurrency to ${Math.max(1, limit - (needed - concurrency))}`,
    },
  ]);
}
