import { setTimeout as sleepMs } from 'node:timers/promises';

/** `performance.now` begins with each thread; the clock of the system does not. */
const threadBeganS = Number(process.hrtime.bigint()) / 1e9 - performance.now() / 1000;

/** Seconds on the monotonic clock of this machine, the same in all threads to a microsecond. Only differences mean anything. */
export const now = (): number => threadBeganS + performance.now() / 1000;

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
