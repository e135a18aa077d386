import type { Distribution, Summary } from '../records/summary.ts';
import { pinnedWithin, togetherWithinS } from './warnings.ts';

/** Largest relative difference between a throughput and its total over the duration. */
const agreeWithin = 0.01;
/** A peak over this many means is no peak but a fault of the clock, where requests were under way all the time. */
const peakOverMean = 20;

/**
 * Why the numbers must not be believed, each a sentence; none when they may be. A run with any failure is among them:
 * it must never be the best. Set `pinnedOutput` to false where the workload lets answers end by themselves.
 */
export function sanityProblems(summary: Summary, { pinnedOutput = true } = {}): readonly string[] {
  if (summary.ok === 0) return [`Not one of ${summary.asked} requests succeeded${mostFrequentError(summary)}.`];
  return [
    ...countProblems(summary),
    ...(pinnedOutput ? lengthProblems(summary) : []),
    ...throughputProblems(summary),
    ...peakProblems(summary),
    ...latencyProblems(summary),
  ];
}

const mostFrequentError = ({ errors: [first] }: Summary): string => (first === undefined ? '' : `: ${first.text}`);
const differs = (a: number, b: number, within: number): boolean => Math.abs(a - b) > within * Math.abs(b);

function countProblems(summary: Summary): string[] {
  const { asked, ok, failed, notSent } = summary;
  const problems: string[] = [];
  if (failed > 0) problems.push(`${failed} of ${asked} requests failed${mostFrequentError(summary)}.`);
  if (notSent > 0) problems.push(`${notSent} of ${asked} requests were never sent.`);
  if (asked !== ok + failed + notSent) {
    problems.push(
      `${asked} requests were asked for, but ${ok} ok, ${failed} failed and ${notSent} not sent are not that many.`,
    );
  }
  return problems;
}

function lengthProblems({ outputTokens, outputTokensAsked }: Summary): string[] {
  if (outputTokens === 0) return ['No output token was counted.'];
  if (!differs(outputTokens, outputTokensAsked, pinnedWithin)) return [];
  return [
    `${outputTokens} output tokens came where ${outputTokensAsked} were asked for: the output length was not pinned.`,
  ];
}

function throughputProblems(summary: Summary): string[] {
  const { durationS, ok, inputTokens, outputTokens } = summary;
  if (!(durationS > 0)) return ['The load has no duration.'];
  const rates = [
    ['request throughput', summary.requestThroughput, ok],
    ['output token throughput', summary.outputThroughput, outputTokens],
    ['total token throughput', summary.totalTokenThroughput, inputTokens + outputTokens],
  ] as const;
  return rates.flatMap(([name, value, total]) => {
    if (value === null) return [`There is no ${name}.`];
    if (!differs(value, total / durationS, agreeWithin)) return [];
    return [
      `The ${name} is ${value.toFixed(2)}/s, but ${total} over ${durationS.toFixed(2)} s are ${(total / durationS).toFixed(2)}/s.`,
    ];
  });
}

function peakProblems(summary: Summary): string[] {
  const { peakOutputThroughput: peak, outputThroughput: mean } = summary;
  if (peak === null || mean === null) return [];
  const figures = `peak output ${peak.toFixed(2)} tok/s, mean ${mean.toFixed(2)} tok/s`;
  if (peak < mean) return [`The peak is below the mean: ${figures}.`];
  if (peak > peakOverMean * mean && meanConcurrency(summary) >= 1) {
    return [`The peak is over ${peakOverMean} times the mean: ${figures}.`];
  }
  return [];
}

/** Requests under way on average: by Little's law, their rate times the time each takes. */
function meanConcurrency({ latencies, ok, outputTokens, durationS }: Summary): number {
  const mean = (name: string): number | null => latencies[name]?.mean ?? null;
  const [ttft, tpot] = [mean('ttft'), mean('tpot')];
  const latency = mean('e2el') ?? (ttft === null || tpot === null ? null : ttft + tpot * (outputTokens / ok - 1));
  return latency === null ? Number.POSITIVE_INFINITY : (ok / durationS) * latency;
}

function latencyProblems({ latencies }: Summary): string[] {
  const problems = Object.entries(latencies).flatMap(([name, sample]) => medianProblem(name, sample));
  return latencies.ttft?.n === 0 ? ['No time to first token was measured.', ...problems] : problems;
}

function medianProblem(name: string, { n, median }: Distribution): string[] {
  if (n === 0 || (median !== null && median > togetherWithinS)) return [];
  const value = median === null ? 'missing' : `${(median * 1000).toFixed(2)} ms`;
  return [`The median ${name.toUpperCase().replaceAll('_', ' ')} is ${value}, which no engine can do.`];
}
