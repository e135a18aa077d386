import type { EventShape } from './event-shape.ts';

/** Counts over all answers of a load. */
export interface Tally {
  /** Output tokens so far: one an event that does not say how many it carries, put right when the answer has ended. */
  outputTokens: number;
  /** The shape of the events of the answer that learned one last. */
  shape?: EventShape;
  /** Some answer had its tokens counted by the server, so the texts of others are not needed to count theirs. */
  serverCounts?: boolean;
}
