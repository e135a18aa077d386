import { availableParallelism } from 'node:os';
import type { LoadPlan } from './plan.ts';

/** What one thread reads with room to spare, token-bearing events a second; `docs/performance.md` has what it can read. */
const eventsPerThread = 25_000;
/** What a stream brings where nobody knows, events a second: a token every 20 ms. */
const usualStream = 50;

/**
 * How many threads a load is worth: as many as its token events need, and at most half of the cores, since the engine
 * wants some as well. Events are expected from the rate and the lengths, or from the number of streams at once.
 */
export function workersFor(
  plan: Pick<LoadPlan, 'requests' | 'minRequests' | 'maxConcurrency' | 'arrivals'>,
  cores = availableParallelism(),
): number {
  const { requests, minRequests, maxConcurrency, arrivals } = plan;
  const rate = arrivals.rampUp?.endRps ?? arrivals.requestRate;
  const sample = requests.slice(0, 1000);
  const meanOutput = sample.reduce((sum, { outputTokens }) => sum + outputTokens, 0) / Math.max(1, sample.length);
  const streams = Math.min(maxConcurrency ?? Number.POSITIVE_INFINITY, minRequests);
  const eventsPerS = Math.min(streams * usualStream, rate * meanOutput);
  return Math.max(1, Math.min(Math.floor(cores / 2), Math.ceil(eventsPerS / eventsPerThread)));
}
