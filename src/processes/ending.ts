import { now, sleep } from '../kit/clock.ts';
import type { Family } from './family.ts';

/** What ending a family took. */
export interface Ending {
  /** SIGTERM was not enough. */
  readonly forced: boolean;
  /** Numbers of the processes that outlived even SIGKILL: stuck in a driver, or another user's. */
  readonly survivors: readonly number[];
  readonly durationS: number;
}

/** A killed process that held a large GPU or pinned memory needs seconds to give it back. */
export const killWaitS = 10;

/**
 * Ends a whole family: SIGTERM, then SIGKILL to whoever is left once `graceEndsAt()` (on the clock of `kit/clock.ts`;
 * asked again and again, so that it may be brought forward) has passed, then waits until all are gone.
 */
export async function endFamily(family: Family, graceEndsAt: () => number): Promise<Ending> {
  const beganAt = now();
  family.refreshMarked();
  signalFamily(family, 'SIGTERM');
  await untilGone(family, 'SIGTERM', graceEndsAt);
  const forced = family.running.length > 0;
  if (forced) {
    const givenUpAt = now() + killWaitS;
    await untilGone(family, 'SIGKILL', () => givenUpAt);
  }
  return { forced, survivors: family.running.map(({ pid }) => pid), durationS: now() - beganAt };
}

/** SIGKILL is sent again and again, to whoever was forked meanwhile; SIGTERM once, but for who slipped away before it. */
async function untilGone(family: Family, signal: 'SIGTERM' | 'SIGKILL', endsAt: () => number): Promise<void> {
  for (let pauseS = 0.01; ; pauseS = Math.min(pauseS * 1.5, 0.1)) {
    family.refresh();
    const seemsGone = family.running.length === 0;
    if (seemsGone) family.refreshMarked();
    if (family.running.length === 0) return;
    if (seemsGone || signal === 'SIGKILL') signalFamily(family, signal);
    const leftS = endsAt() - now();
    if (leftS <= 0) return;
    await sleep(Math.min(pauseS, leftS));
  }
}

/**
 * The group at once, so that nobody forks away from under the signal, and each member outside it. Only right after a
 * refresh: a group's number cannot be given away while a member of ours is in it.
 */
function signalFamily({ root, running }: Family, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (running.some(({ pgid }) => pgid === root.pid)) trySignal(-root.pid, signal);
  for (const { pid, pgid } of running) if (pgid !== root.pid) trySignal(pid, signal);
}

function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended just now; or it may not be signalled, and shows up as a survivor.
  }
}
