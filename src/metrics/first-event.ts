import type { Metric } from './metric.ts';

/** Time to first event of any kind, less the send time: how soon the server answered at all. */
export const firstEvent: Metric = {
  name: 'first_event',
  title: 'Time to First Event',
  short: 'First event',
  of: ({ firstEventS, sendS }) => (firstEventS === undefined ? [] : [firstEventS - sendS]),
};
