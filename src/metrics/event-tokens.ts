import type { RequestRecord } from '../records/request.ts';

type Told = Pick<RequestRecord, 'tokenTimesS' | 'tokenCounts' | 'outputTokens'>;

/**
 * How many of a request's output tokens its event `i` carried. Where the server tells that event by event, in that
 * proportion; else all alike. Either way they add up to `outputTokens`, so that rates and totals agree.
 */
export function eventTokens({ tokenTimesS, tokenCounts, outputTokens }: Told): (i: number) => number {
  const told = tokenCounts?.length === tokenTimesS.length ? tokenCounts.reduce((sum, count) => sum + count, 0) : 0;
  if (tokenCounts === undefined || !(told > 0)) return () => outputTokens / tokenTimesS.length;
  return (i) => ((tokenCounts[i] ?? 0) * outputTokens) / told;
}

/** Whether the first token has a time of its own: it has none when the whole answer of several tokens came as one event. */
export const timedFirstToken = ({ tokenTimesS, outputTokens }: Told): boolean =>
  tokenTimesS.length > 1 || outputTokens <= 1;
