import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { now } from '../kit/clock.ts';
import { writeFileAtomic } from '../kit/files.ts';
import { endFamily } from './ending.ts';
import { trackFamily } from './family.ts';
import { isRunning, type ProcessIdentity } from './tree.ts';

const file = 'engine.json';
const graceS = 2;

/** Notes a process in a folder, for the case that neither its owner nor its watchdog lives to end it. */
export const rememberProcess = (dir: string, { pid, startTime }: ProcessIdentity): void =>
  writeFileAtomic(join(dir, file), `${JSON.stringify({ pid, startTime })}\n`);

/** Ends what was noted in a folder, with all that descends from it, if it is still that very process. True if it was. */
export async function endRemembered(dir: string): Promise<boolean> {
  let noted: ProcessIdentity;
  try {
    noted = JSON.parse(readFileSync(join(dir, file), 'utf8')) as ProcessIdentity;
  } catch {
    return false; // nothing was started, or the note was never written
  }
  if (!isRunning(noted)) return false;
  const graceEndsAt = now() + graceS;
  await endFamily(trackFamily(noted), () => graceEndsAt);
  return true;
}
