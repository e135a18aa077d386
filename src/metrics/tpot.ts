import type { Metric } from './metric.ts';

/**
 * Time per output token: (E2EL - TTFT) / (output tokens - 1), which is the time from the first token to the last over
 * the tokens after the first.
 *
 * An answer of one token has no second one to wait for, and one that came in a single event shows no time between its
 * tokens: neither has a TPOT.
 */
export const tpot: Metric = {
  name: 'tpot',
  title: 'Time per Output Token (excl. 1st token)',
  short: 'TPOT',
  of: ({ firstTokenS, lastTokenS, outputTokens, tokenTimesS }) =>
    firstTokenS === undefined || lastTokenS === undefined || outputTokens < 2 || tokenTimesS.length < 2
      ? []
      : [(lastTokenS - firstTokenS) / (outputTokens - 1)],
};
