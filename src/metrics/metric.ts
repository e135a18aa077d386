import type { RequestRecord } from '../records/request.ts';

/** One latency metric: a formula over one request's record, and how it is called. One file each. */
export interface Metric {
  /** As in `--percentile-metrics`: `ttft`, `tpot`, `itl`, `e2el`. */
  readonly name: string;
  /** Heading in the result block: `Time to First Token`. */
  readonly title: string;
  /** In a table: `TTFT`. */
  readonly short: string;
  /** A request contributes about as many samples as it has events; absent: one at most. */
  readonly perEvent?: true;
  /** The samples, in seconds, that one **ok** request contributes; none where the metric does not exist for it. */
  of(record: RequestRecord): readonly number[];
}
