import type { Metric } from './metric.ts';

/**
 * Inter-token latency: every gap between one token-bearing event of an answer and the next, pooled over all answers,
 * so that long ones weigh more.
 *
 * Where an event carries several tokens (speculative decoding, a server that collects them) this is the time between
 * events; the summary then says so, and TPOT is the time per token.
 */
export const itl: Metric = {
  name: 'itl',
  title: 'Inter-token Latency',
  short: 'ITL',
  perEvent: true,
  of({ tokenTimesS }) {
    const gaps = new Array<number>(Math.max(0, tokenTimesS.length - 1));
    for (let i = 0; i < gaps.length; i++) gaps[i] = (tokenTimesS[i + 1] as number) - (tokenTimesS[i] as number);
    return gaps;
  },
};
