import type { Metric } from './metric.ts';

/**
 * Time to the end of the stream: its terminal signal (`[DONE]`, or the end of the body), less the send time. It is E2EL
 * and whatever the server adds after the last token: a finish reason, the usage.
 */
export const streamEnd: Metric = {
  name: 'stream_end',
  title: 'Time to End of Stream',
  short: 'Stream end',
  of: ({ endS, sendS, tokenTimesS }) => (tokenTimesS.length === 0 ? [] : [endS - sendS]),
};
