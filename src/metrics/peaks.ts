import type { RecordList } from '../records/request.ts';
import { eventTokens } from './event-tokens.ts';
import { type Fold, fold } from './fold.ts';

/** Windows of one second begin at every hundredth of a second. */
const binsPerS = 100;

/**
 * Most output tokens that arrived in one second: the largest sum over any window of one second that lies within the
 * load and begins at a multiple of 10 ms. An event counts for the tokens that it carried (`event-tokens.ts`), so that
 * events of several tokens count in full; `vllm bench serve` counts events.
 *
 * Null where it would mislead: no token arrived, the load was shorter than one second, or (a few events at both ends
 * of a load of a second or two) the result is below the mean rate over the load, `outputTokens / durationS`.
 */
export const peakOutputThroughput = (ok: RecordList, durationS: number): number | null =>
  fold(ok, peakOutputFold(durationS));

/** To be fed with ok requests only. */
export function peakOutputFold(durationS: number): Fold<number | null> {
  const bins = new Float64Array(durationS < 1 ? 0 : Math.max(binsPerS, Math.ceil(durationS * binsPerS)));
  let total = 0;
  return {
    add(record) {
      if (bins.length === 0) return;
      total += record.outputTokens;
      const tokensOf = eventTokens(record);
      record.tokenTimesS.forEach((time, i) => {
        const bin = Math.min(bins.length - 1, Math.max(0, Math.floor(time * binsPerS)));
        bins[bin] = (bins[bin] as number) + tokensOf(i);
      });
    },
    result() {
      const peak = fullestSecond(bins);
      return total === 0 || peak < total / durationS ? null : peak;
    },
  };
}

function fullestSecond(bins: Float64Array): number {
  let window = 0;
  let peak = 0;
  for (let i = 0; i < bins.length; i++) {
    window += bins[i] as number;
    if (i >= binsPerS) window -= bins[i - binsPerS] as number;
    peak = Math.max(peak, window);
  }
  // The running sum of fractions is off in its last digits; whole tokens are whole.
  return Number(peak.toPrecision(12));
}
