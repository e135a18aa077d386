import { setTimeout as sleepMs } from 'node:timers/promises';

/** Seconds on the monotonic clock of this process. Only differences mean anything. */
export const now = (): number => performance.now() / 1000;

/** Waits for `durationS` seconds; rejects with the signal's reason as soon as it aborts. */
export async function sleep(durationS: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  try {
    await sleepMs(Math.max(0, durationS * 1000), undefined, signal ? { signal } : undefined);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/** The wall clock as ISO 8601 in UTC, for display and for records of when something was; never for measuring. */
export const wallTime = (): string => new Date().toISOString();
