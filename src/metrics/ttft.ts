import { timedFirstToken } from './event-tokens.ts';
import type { Metric } from './metric.ts';

/**
 * Time to first token: the first token on any channel (answer, reasoning, tool call), less the send time. An answer of
 * several tokens that came whole, in one event, does not show when its first one was there, and has no TTFT.
 *
 * `vllm bench serve` takes the first event that has a choice, the role-only one included, which some servers send
 * before they have computed anything; that time is `first_event` here.
 */
export const ttft: Metric = {
  name: 'ttft',
  title: 'Time to First Token',
  short: 'TTFT',
  of: (record) =>
    record.firstTokenS === undefined || !timedFirstToken(record) ? [] : [record.firstTokenS - record.sendS],
};
