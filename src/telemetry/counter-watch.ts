import { now, sleep } from '../kit/clock.ts';
import type { CounterScrape, Counters } from '../records/counters.ts';
import type { CounterSummary } from '../records/telemetry.ts';
import { counterSummary } from './counter-summary.ts';
import { readCounters } from './counters.ts';
import type { Window } from './gpu-summary.ts';

/** Reads an engine's counters while it runs. An engine that does not answer leaves a gap, and is no error. */
export interface CounterWatch extends AsyncDisposable {
  /** In the order of time. Grows while the watch runs. */
  readonly scrapes: readonly CounterScrape[];
  /**
   * Reads once more, ends the watch, and tells what happened in a stretch of time: from the start of the watch until
   * now, unless another is named. Called again it only tells.
   */
  finish(window?: Window): Promise<CounterSummary>;
}

export interface CounterWatchOptions {
  /** From one scrape to the next (default 1 s); one that takes longer makes the next ones fall out. */
  readonly everyS?: number;
  /** Longest that a scrape may take (default 2 s). */
  readonly timeoutS?: number;
}

/**
 * Reads an engine's counters at once, then again and again, never two at a time. Resolves after the first reading, so
 * that it lies before whatever the caller starts next. When the signal aborts, the watch ends by itself; it never
 * rejects.
 */
export async function watchCounters(
  counters: Counters,
  baseUrl: URL,
  signal: AbortSignal,
  { everyS = 1, timeoutS = 2 }: CounterWatchOptions = {},
): Promise<CounterWatch> {
  const scrapes: CounterScrape[] = [];
  const stopped = new AbortController();
  const pause = AbortSignal.any([signal, stopped.signal]);

  async function scrape(): Promise<void> {
    const askedAtS = now();
    let values: CounterScrape['values'] = null;
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutS * 1000)]);
      values = await readCounters(counters, baseUrl, limit);
    } catch {
      if (signal.aborted) return;
    }
    scrapes.push({ askedAtS, atS: now(), values });
  }

  async function repeat(): Promise<void> {
    try {
      for (let dueAt = now() + everyS; ; ) {
        await sleep(dueAt - now(), pause);
        await scrape();
        while (dueAt <= now()) dueAt += everyS;
      }
    } catch {
      // Stopped, or aborted: nothing else throws.
    }
  }

  await scrape();
  const beganAt = now();
  const repeating = repeat();
  let endedAt: number | undefined;

  const end = async (): Promise<void> => {
    stopped.abort();
    await repeating;
  };
  let last: Promise<void> | undefined;
  return {
    scrapes,
    async finish(window) {
      endedAt ??= now();
      last ??= end().then(scrape);
      await last;
      return counterSummary(scrapes, window ?? { fromS: beganAt, toS: endedAt }, counters.format);
    },
    [Symbol.asyncDispose]: end,
  };
}
