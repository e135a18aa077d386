import { ascending, mean, percentile, percentileOf } from '../kit/numbers.ts';
import type { Load, Outcome } from './simulate.ts';

/** What a load comes to; null where no request gives a value. Seconds. */
export interface Figures {
  readonly completed: number;
  readonly refused: number;
  readonly durationS: number;
  /** Prompt and answer tokens of complete requests over the duration, tokens/s. */
  readonly totalTokensPerS: number | null;
  readonly outputTokensPerS: number | null;
  readonly requestsPerS: number | null;
  readonly ttftS: Spread | null;
  readonly tpotS: Spread | null;
  readonly itlS: Spread | null;
  readonly e2elS: Spread | null;
}

export interface Spread {
  readonly mean: number;
  readonly median: number;
  readonly p90: number;
  readonly p99: number;
}

/** The figures of a simulated load, by the formulas of `metrics/`, without a record for each token. */
export function figuresOf(load: Load, outcome: Outcome): Figures {
  const ttft: number[] = [];
  const tpot: number[] = [];
  const e2el: number[] = [];
  let [input, output] = [0, 0];
  for (let id = 0; id < outcome.requests; id++) {
    const endS = outcome.endS[id] as number;
    if (Number.isNaN(endS)) continue;
    const [sendS, firstS] = [outcome.sendS[id] as number, outcome.firstS[id] as number];
    const tokens = load.outputTokens[id] as number;
    input += load.promptTokens[id] as number;
    output += tokens;
    ttft.push(firstS - sendS);
    e2el.push(endS - sendS);
    if (tokens > 1) tpot.push((endS - firstS) / (tokens - 1));
  }
  const perS = (amount: number): number | null => (ttft.length > 0 ? amount / outcome.durationS : null);
  return {
    completed: ttft.length,
    refused: outcome.refusals.size,
    durationS: outcome.durationS,
    totalTokensPerS: perS(input + output),
    outputTokensPerS: perS(output),
    requestsPerS: perS(ttft.length),
    ttftS: spreadOf(ttft),
    tpotS: spreadOf(tpot),
    itlS: gapSpread(outcome),
    e2elS: spreadOf(e2el),
  };
}

/** Spread of all gaps between events that brought tokens, each counted as often as it occurred. */
function gapSpread(outcome: Outcome): Spread | null {
  const rows: [seconds: number, count: number][] = [];
  outcome.eachGap((seconds, count) => rows.push([seconds, count]));
  rows.sort((a, b) => a[0] - b[0]);
  const total = rows.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  /** The value at a place of the list in which each gap stands as often as it occurred. */
  const valueAt = (place: number): number => {
    let passed = 0;
    for (const [seconds, count] of rows) {
      passed += count;
      if (place < passed) return seconds;
    }
    return rows.at(-1)?.[0] as number;
  };
  const average = rows.reduce((sum, [seconds, count]) => sum + seconds * count, 0) / total;
  return spread(average, (p) => percentileOf(total, valueAt, p));
}

function spreadOf(values: readonly number[]): Spread | null {
  const sorted = ascending(values);
  return spread(mean(values), (p) => percentile(sorted, p));
}

/** Null of an empty sample, of which there is no mean. */
const spread = (average: number | null, at: (p: number) => number | null): Spread | null =>
  average === null ? null : { mean: average, median: at(50) as number, p90: at(90) as number, p99: at(99) as number };
