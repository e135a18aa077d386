import type { RecordList, RequestRecord } from '../records/request.ts';
import { type Goodput, type GoodputLimits, goodputMetrics } from '../records/summary.ts';
import { e2el } from './e2el.ts';
import { type Fold, fold } from './fold.ts';
import type { Metric } from './metric.ts';
import { tpot } from './tpot.ts';
import { ttft } from './ttft.ts';

const limited = { ttft, tpot, e2el } satisfies Record<(typeof goodputMetrics)[number], Metric>;

/**
 * Whether an ok request is good: every named metric that exists for it is within its limit, the limit included. An
 * answer of one token has no TPOT and is judged by the other limits. A request in whose stream no token was recognised
 * has no latency at all, and nothing shows that it was good.
 *
 * `vllm bench serve` takes the TPOT of an answer of one token for 0, and its own TTFT and E2EL (see the metrics).
 */
export function isGood(record: RequestRecord, limitsMs: GoodputLimits): boolean {
  if (record.outcome !== 'ok' || e2el.of(record).length === 0) return false;
  return goodputMetrics.every((name) => {
    const limitMs = limitsMs[name];
    return limitMs === undefined || limited[name].of(record).every((valueS) => valueS <= limitMs / 1000);
  });
}

/**
 * Goodput: good requests, and their output tokens, over the duration. The share is of all requests that were asked for,
 * since one that failed or was never sent did not meet the limits. `durationS` in seconds; rates are null where nothing
 * succeeded or no time passed.
 */
export const goodput = (records: RecordList, limitsMs: GoodputLimits, over: GoodputOver): Goodput =>
  fold(records, goodputFold(limitsMs, over));

export interface GoodputOver {
  readonly asked: number;
  readonly durationS: number;
}

export function goodputFold(limitsMs: GoodputLimits, { asked, durationS }: GoodputOver): Fold<Goodput> {
  let [ok, good, outputTokens] = [0, 0, 0];
  return {
    add(record) {
      if (record.outcome === 'ok') ok++;
      if (!isGood(record, limitsMs)) return;
      good++;
      outputTokens += record.outputTokens;
    },
    result() {
      const measured = durationS > 0 && ok > 0;
      return {
        limitsMs,
        good,
        share: asked > 0 ? good / asked : null,
        requestThroughput: measured ? good / durationS : null,
        outputThroughput: measured ? outputTokens / durationS : null,
      };
    },
  };
}
