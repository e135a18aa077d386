import type { Metric } from './metric.ts';

/** Time to first answer token: the first token of the answer itself, after any reasoning, less the send time. */
export const answerTtft: Metric = {
  name: 'answer_ttft',
  title: 'Time to First Answer Token',
  short: 'Answer TTFT',
  of: ({ firstAnswerTokenS, sendS }) => (firstAnswerTokenS === undefined ? [] : [firstAnswerTokenS - sendS]),
};
