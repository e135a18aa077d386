import { timedFirstToken } from './event-tokens.ts';
import type { Metric } from './metric.ts';

/**
 * Time to first answer token: the first token of the answer itself, after any reasoning, less the send time. None where
 * there is no TTFT.
 */
export const answerTtft: Metric = {
  name: 'answer_ttft',
  title: 'Time to First Answer Token',
  short: 'Answer TTFT',
  of: (record) =>
    record.firstAnswerTokenS === undefined || !timedFirstToken(record) ? [] : [record.firstAnswerTokenS - record.sendS],
};
