import { ascending, median, percentile } from '../../kit/numbers.ts';
import { type GoodputLimits, goodputMetrics } from '../../records/summary.ts';
import { numpyMean, numpyStd } from './numpy.ts';
import type { VllmOutput } from './output.ts';
import { vllmPeaks } from './peaks.ts';
import { type VllmVersion, vllmTraits } from './version.ts';

export interface VllmResultOptions {
  readonly version: VllmVersion;
  /** From just before the first request was due until the last one had ended, seconds. */
  readonly durationS: number;
  /** `--percentile-metrics`; names that vLLM does not know are passed over, as it does. */
  readonly percentileMetrics: readonly string[];
  /** `--metric-percentiles`, 0 to 100, in the order of the lines. */
  readonly percentiles: readonly number[];
  readonly goodput?: GoodputLimits | undefined;
  /** Embeddings. */
  readonly pooling?: boolean | undefined;
  /**
   * Tokens of a text, for answers without usage that were not encoded before. Null: there is no tokenizer
   * (`--skip-tokenizer-init`), so such an answer counts one token and figures of tokens are not shown.
   */
  readonly countTokens?: ((text: string) => number) | null | undefined;
}

/** One section of the block, in milliseconds; 0 where the sample is empty, as there. */
export interface VllmLatency {
  readonly name: string;
  readonly mean: number;
  readonly median: number;
  readonly std: number;
  /** In the order that was asked for. */
  readonly percentiles: readonly (readonly [percentile: number, value: number])[];
}

/** What vLLM's benchmark would have made of a load: its own names, its own units. */
export interface VllmResult {
  readonly version: VllmVersion;
  readonly pooling: boolean;
  readonly hasTokenizer: boolean;
  readonly duration: number;
  readonly completed: number;
  readonly failed: number;
  readonly totalInput: number;
  readonly totalOutput: number;
  readonly requestThroughput: number;
  /** Null when no limit was given. */
  readonly requestGoodput: number | null;
  readonly outputThroughput: number;
  readonly totalTokenThroughput: number;
  readonly maxOutputTokensPerS: number;
  readonly maxConcurrentRequests: number;
  /** The sections that were asked for, in the order of the block. */
  readonly latencies: readonly VllmLatency[];
  /** Tokens of each request, 0 of failed ones. */
  readonly outputLens: readonly number[];
  readonly outputs: readonly VllmOutput[];
}

/**
 * The figures of vLLM's benchmark over these outputs, by the rules of that release: failed requests enter nothing; TPOT
 * is (E2EL - TTFT) / (tokens - 1) of answers of more than one token, and 0 of the others where goodput is judged; ITL is
 * pooled over all answers; standard deviations are of the population; percentiles are numpy's `linear`.
 */
export function vllmResult(outputs: readonly VllmOutput[], options: VllmResultOptions): VllmResult {
  const { version, durationS, pooling = false, countTokens } = options;
  const succeeded = outputs.filter(({ success }) => success);
  const outputLens = outputs.map((output) => (output.success && !pooling ? tokensOf(output, countTokens) : 0));
  const lens = outputLens.filter((_, i) => outputs[i]?.success);
  const byServer = pooling || vllmTraits[version].promptTokensBy === 'server';

  const totalInput = sum(succeeded.map((o) => (byServer ? o.promptTokens : o.promptTokensByClient)));
  const totalOutput = sum(lens);
  const tpots = succeeded.map(({ latencyS, ttftS }, i) => {
    const tokens = lens[i] as number;
    return tokens > 1 ? (latencyS - ttftS) / (tokens - 1) : 0;
  });
  const samples: Record<string, readonly number[]> = {
    ttft: succeeded.map(({ ttftS }) => ttftS),
    tpot: tpots.filter((_, i) => (lens[i] as number) > 1),
    itl: succeeded.flatMap(({ itlS }) => itlS),
    e2el: succeeded.map(({ latencyS }) => latencyS),
  };
  const limits = options.goodput ?? {};
  const judged = !pooling && goodputMetrics.some((name) => limits[name] !== undefined);
  const good = succeeded.filter((output, i) =>
    within(limits, { ttft: output.ttftS, tpot: tpots[i] as number, e2el: output.latencyS }),
  );
  const peaks = vllmPeaks(pooling ? [] : succeeded);
  const hasTokenizer = countTokens !== null;

  return {
    version,
    pooling,
    hasTokenizer,
    duration: durationS,
    completed: succeeded.length,
    failed: outputs.length - succeeded.length,
    totalInput,
    totalOutput,
    requestThroughput: succeeded.length / durationS,
    requestGoodput: judged ? good.length / durationS : null,
    outputThroughput: totalOutput / durationS,
    totalTokenThroughput: (totalInput + totalOutput) / durationS,
    maxOutputTokensPerS: peaks.tokensPerS,
    maxConcurrentRequests: peaks.concurrent,
    latencies: (pooling || !hasTokenizer ? ['e2el'] : ['ttft', 'tpot', 'itl', 'e2el'])
      .filter((name) => options.percentileMetrics.includes(name))
      .map((name) => latency(name, samples[name] ?? [], options.percentiles)),
    outputLens,
    outputs,
  };
}

function tokensOf(output: VllmOutput, countTokens: VllmResultOptions['countTokens']): number {
  if (output.outputTokens > 0) return output.outputTokens;
  if (countTokens === null) return 1;
  return output.encodedTokens ?? countTokens?.(output.generatedText) ?? 0;
}

const within = (limitsMs: GoodputLimits, valuesS: Record<(typeof goodputMetrics)[number], number>): boolean =>
  goodputMetrics.every((name) => {
    const limitMs = limitsMs[name];
    return limitMs === undefined || limitMs / 1000 >= valuesS[name];
  });

function latency(name: string, sampleS: readonly number[], percentiles: readonly number[]): VllmLatency {
  const sorted = ascending(sampleS);
  const ms = (valueS: number | null): number => (valueS ?? 0) * 1000;
  return {
    name,
    mean: ms(numpyMean(sampleS)),
    median: ms(median(sorted)),
    std: ms(numpyStd(sampleS)),
    percentiles: percentiles.map((p) => [p, ms(percentile(sorted, p))] as const),
  };
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
