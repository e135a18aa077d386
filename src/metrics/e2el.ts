import type { Metric } from './metric.ts';

/**
 * End-to-end latency: the last token, less the send time. Of an endpoint that generates nothing: the whole answer, less
 * the send time.
 *
 * `vllm bench serve` measures to the last event of a chat, which is the one that carries the usage; the end of the
 * stream is `stream_end` here.
 */
export const e2el: Metric = {
  name: 'e2el',
  title: 'End-to-end Latency',
  short: 'E2EL',
  of: ({ lastTokenS, sendS }) => (lastTokenS === undefined ? [] : [lastTokenS - sendS]),
};
