import type { Distribution, Summary } from '../records/summary.ts';
import { pinnedWithin, togetherWithinS } from './warnings.ts';

/** Largest relative difference between a throughput and its total over the duration. */
const agreeWithin = 0.01;
/** A peak over this many means is no peak but a fault of the clock, where requests were under way all the time. */
const peakOverMean = 20;

/** What any result may say of itself, whoever measured it. What is absent or null is not judged. */
export interface Figures {
  readonly asked?: number | null;
  readonly ok?: number | null;
  readonly failed?: number | null;
  readonly notSent?: number | null;
  readonly durationS?: number | null;
  readonly inputTokens?: number | null;
  readonly outputTokens?: number | null;
  /** A second, all four. */
  readonly requestThroughput?: number | null;
  readonly outputThroughput?: number | null;
  readonly totalTokenThroughput?: number | null;
  readonly peakOutputThroughput?: number | null;
  /** Requests under way on average. Below 1, a peak far above the mean is no wonder. */
  readonly meanConcurrency?: number | null;
  /** In seconds, by the name of a metric: `ttft`, `tpot`, `itl`, `e2el`. */
  readonly medians?: Readonly<Record<string, number | null | undefined>>;
  /** The most frequent error text. */
  readonly error?: string | undefined;
}

/** The reasons not to believe these figures, each a sentence; none when nothing speaks against them. */
export function sanityOfFigures(figures: Figures): readonly string[] {
  const { ok, asked } = figures;
  if (ok === 0) {
    return [`${asked == null ? 'Not one request' : `Not one of ${asked} requests`} succeeded${because(figures)}.`];
  }
  return [...countProblems(figures), ...rateProblems(figures), ...peakProblems(figures), ...medianProblems(figures)];
}

/**
 * Why the numbers must not be believed, each a sentence; none when they may be. A run with any failure is among them:
 * it must never be the best. Set `pinnedOutput` to false where the workload lets answers end by themselves; `unpinnedBy`
 * says what kept their length from being pinned where that is known (`since ...`).
 */
export function sanityProblems(
  summary: Summary,
  { pinnedOutput = true, unpinnedBy }: { readonly pinnedOutput?: boolean; readonly unpinnedBy?: string } = {},
): readonly string[] {
  const problems = sanityOfFigures(figuresOf(summary));
  if (summary.ok === 0) return problems;
  return [...problems, ...(pinnedOutput ? lengthProblems(summary, unpinnedBy) : []), ...missing(summary)];
}

/** A summary as figures that anybody's result may have. */
function figuresOf(summary: Summary): Figures {
  const { latencies, meanConcurrency, errors, ...figures } = summary;
  return {
    ...figures,
    error: errors[0]?.text,
    meanConcurrency: meanConcurrency ?? byLittlesLaw(summary),
    // A median of an empty sample is null in a summary: it is not wrong, it does not exist.
    medians: Object.fromEntries(Object.entries(latencies).map(([name, { median }]) => [name, median])),
  };
}

/** Requests under way on average, where the summary does not say: their rate times the time each takes. */
function byLittlesLaw({ latencies, ok, outputTokens, durationS }: Summary): number | null {
  const mean = (name: string): number | null => latencies[name]?.mean ?? null;
  const [ttft, tpot] = [mean('ttft'), mean('tpot')];
  const latency = mean('e2el') ?? (ttft === null || tpot === null ? null : ttft + tpot * (outputTokens / ok - 1));
  return latency === null ? null : (ok / durationS) * latency;
}

const because = ({ error }: Figures): string => (error === undefined ? '' : `: ${error}`);
const differs = (a: number, b: number, within: number): boolean => Math.abs(a - b) > within * Math.abs(b);

function countProblems(figures: Figures): string[] {
  const { asked, ok, failed, notSent } = figures;
  const of = asked == null ? 'requests' : `of ${asked} requests`;
  const problems: string[] = [];
  if (failed != null && failed > 0) problems.push(`${failed} ${of} failed${because(figures)}.`);
  if (notSent != null && notSent > 0) problems.push(`${notSent} ${of} were never sent.`);
  if (asked == null || ok == null) return problems;
  const known = ok + (failed ?? 0) + (notSent ?? 0);
  if (known > asked || (failed != null && notSent != null && known !== asked)) {
    const parts = [`${ok} ok`, ...(failed == null ? [] : [`${failed} failed`])];
    const all = notSent == null ? parts.join(' and ') : `${parts.join(', ')} and ${notSent} not sent`;
    problems.push(`${asked} requests were asked for, but ${all} are not that many.`);
  } else if (known < asked) {
    const how = failed == null ? 'did not succeed' : 'neither succeeded nor are counted as failed';
    problems.push(`${asked - known} ${of} ${how}.`);
  }
  return problems;
}

function rateProblems(figures: Figures): string[] {
  const { durationS, ok, inputTokens, outputTokens } = figures;
  if (durationS == null) return [];
  if (!(durationS > 0)) return ['The load has no duration.'];
  const tokens = inputTokens == null || outputTokens == null ? null : inputTokens + outputTokens;
  const rates = [
    ['request throughput', figures.requestThroughput, ok],
    ['output token throughput', figures.outputThroughput, outputTokens],
    ['total token throughput', figures.totalTokenThroughput, tokens],
  ] as const;
  return rates.flatMap(([name, value, total]) => {
    if (value == null || total == null || !differs(value, total / durationS, agreeWithin)) return [];
    return [
      `The ${name} is ${value.toFixed(2)}/s, but ${total} over ${durationS.toFixed(2)} s are ${(total / durationS).toFixed(2)}/s.`,
    ];
  });
}

function peakProblems({ peakOutputThroughput: peak, outputThroughput: mean, meanConcurrency }: Figures): string[] {
  if (peak == null || mean == null) return [];
  const figures = `peak output ${peak.toFixed(2)} tok/s, mean ${mean.toFixed(2)} tok/s`;
  if (peak < mean) return [`The peak is below the mean: ${figures}.`];
  if (peak > peakOverMean * mean && (meanConcurrency ?? Number.POSITIVE_INFINITY) >= 1) {
    return [`The peak is over ${peakOverMean} times the mean: ${figures}.`];
  }
  return [];
}

function medianProblems({ medians = {}, ok, outputTokens }: Figures): string[] {
  // Others write 0 for the median of nothing, and answers of one token have neither a TPOT nor a gap.
  const single = ok != null && outputTokens != null && outputTokens <= ok;
  return Object.entries(medians).flatMap(([name, median]) => {
    if (median == null || median > togetherWithinS) return [];
    if (single && median === 0 && (name === 'tpot' || name === 'itl')) return [];
    return [
      `The median ${name.toUpperCase().replaceAll('_', ' ')} is ${(median * 1000).toFixed(2)} ms, which no engine can do.`,
    ];
  });
}

function lengthProblems({ outputTokens, outputTokensAsked, pooling }: Summary, reason: string | undefined): string[] {
  if (pooling) return [];
  if (outputTokens === 0) return ['No output token was counted.'];
  if (!differs(outputTokens, outputTokensAsked, pinnedWithin)) return [];
  return [
    `${outputTokens} output tokens came where ${outputTokensAsked} were asked for: the output length was not pinned${reason === undefined ? '' : `, ${reason}`}.`,
  ];
}

/** What every load in which something succeeded has. */
function missing(summary: Summary): string[] {
  const { durationS, latencies, pooling } = summary;
  const empty = (sample: Distribution | undefined): boolean => sample?.n === 0;
  const rates = [
    ['request throughput', summary.requestThroughput],
    ['output token throughput', pooling ? 0 : summary.outputThroughput],
    ['total token throughput', summary.totalTokenThroughput],
  ] as const;
  return [
    ...(durationS > 0 ? rates.flatMap(([name, value]) => (value === null ? [`There is no ${name}.`] : [])) : []),
    // An answer that comes whole shows when it was there, but not when its first token was.
    ...(empty(latencies.ttft) && (latencies.e2el === undefined || empty(latencies.e2el))
      ? ['No time to first token was measured.']
      : []),
  ];
}
