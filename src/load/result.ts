import type { RecordList } from '../records/request.ts';
import type { ClientHealth } from '../records/summary.ts';
import type { LoadProgress } from './progress.ts';

export interface LoadResult {
  /** When the load began, on the clock of `kit/clock.ts`; all times of the records count from here. */
  readonly startS: number;
  /** One for every request that was sent, about in the order in which they ended. */
  readonly records: RecordList;
  /** ok + failed + not sent. With a duration to fill: as many as were sent, and at least `minRequests`. */
  readonly asked: number;
  readonly notSent: number;
  readonly client: ClientHealth;
  readonly ended: 'complete' | 'hung' | 'timed_out' | 'cancelled';
  /** Why it did not run to its end; absent when it is complete. */
  readonly abandonedReason?: string;
  /** The prepared requests ran out before the duration that was asked for had passed. */
  readonly ranOut?: string;
  /** From the start of the load until its last request had ended, seconds. */
  readonly durationS: number;
  /** Requests sent a second time because their idle connection had been closed by the server. */
  readonly staleRetries: number;
}

export interface LoadHooks {
  readonly signal: AbortSignal;
  /** Called a few times a second, and once at the end. */
  onProgress?(progress: LoadProgress): void;
  /** Where the records go as they end, one JSON object a line. */
  readonly recordsPath?: string;
  /** Threads of their own that send the load; absent, the caller's sends it. What is sent does not depend on it. */
  readonly workers?: number;
  /** Connections are opened before the clock starts where all requests are due at once; false opens them as they are needed. */
  readonly preconnect?: boolean;
}
