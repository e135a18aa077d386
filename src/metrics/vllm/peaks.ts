import type { VllmOutput } from './output.ts';

/**
 * vLLM's peaks over whole seconds from the first start of a successful request, faults included: a message counts as
 * one token whatever it carries, and a request counts in every second that it touched, so that the second figure can
 * exceed the limit on concurrency. Both are 0 when nothing succeeded.
 */
export function vllmPeaks(succeeded: readonly VllmOutput[]): { tokensPerS: number; concurrent: number } {
  if (succeeded.length === 0) return { tokensPerS: 0, concurrent: 0 };
  const start = succeeded.reduce((least, { startS }) => Math.min(least, startS), Number.POSITIVE_INFINITY);
  const end = succeeded.reduce((most, o) => Math.max(most, o.startS + o.latencyS), Number.NEGATIVE_INFINITY);
  const seconds = Math.ceil(end - start) + 1;
  const tokens = new Float64Array(seconds);
  const requests = new Float64Array(seconds);
  const count = (bins: Float64Array, second: number): void => {
    if (second >= 0 && second < seconds) bins[second] = (bins[second] as number) + 1;
  };
  for (const { startS, ttftS, itlS, latencyS } of succeeded) {
    // Added up one by one, as there: on the edge of a second the rounding decides.
    let time = startS + ttftS;
    count(tokens, Math.trunc(time - start));
    for (const gap of itlS) {
      time += gap;
      count(tokens, Math.trunc(time - start));
    }
    const last = Math.trunc(startS + latencyS - start);
    for (let second = Math.trunc(startS - start); second <= last; second++) count(requests, second);
  }
  const most = (bins: Float64Array): number => bins.reduce((a, b) => Math.max(a, b), 0);
  return { tokensPerS: most(tokens), concurrent: most(requests) };
}
