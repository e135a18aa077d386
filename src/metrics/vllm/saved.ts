import { configurationPart, type RunFacts, strictJson } from '../run-facts.ts';
import type { VllmResult } from './result.ts';
import { vllmTraits } from './version.ts';

export interface SavedResultOptions {
  readonly run: RunFacts;
  /** `--save-detailed`: also an array with a value for each request, in the order of the workload. */
  readonly detailed: boolean;
}

/** What that release writes for `--save-result`: its keys in its order, as a plain object that is strict JSON. */
export function savedResult(result: VllmResult, { run, detailed }: SavedResultOptions): Record<string, unknown> {
  const changes = run.rampUp?.changes ?? [];
  return strictJson({
    ...configurationPart(run),
    ...(result.pooling ? poolingPart(result, detailed) : generationPart(result, detailed)),
    ...(changes.length === 0 ? {} : { rps_change_events: changes }),
    ...latencyPart(result),
  }) as Record<string, unknown>;
}

/** The result part of a generating backend, without the latencies. */
function generationPart(result: VllmResult, detailed: boolean): Record<string, unknown> {
  const { outputs } = result;
  const { countsFailed, savesStartTimes } = vllmTraits[result.version];
  return {
    duration: result.duration,
    completed: result.completed,
    ...(countsFailed ? { failed: result.failed } : {}),
    total_input_tokens: result.totalInput,
    total_output_tokens: result.totalOutput,
    request_throughput: result.requestThroughput,
    request_goodput: result.requestGoodput,
    output_throughput: result.outputThroughput,
    total_token_throughput: result.totalTokenThroughput,
    ...(detailed
      ? {
          input_lens: outputs.map(({ promptTokens }) => promptTokens),
          output_lens: result.outputLens,
          ttfts: outputs.map(({ ttftS }) => ttftS),
          itls: outputs.map(({ itlS }) => itlS),
          ...(savesStartTimes ? { start_times: outputs.map(({ startS }) => startS) } : {}),
          generated_texts: outputs.map(({ generatedText }) => generatedText),
          errors: outputs.map(({ error }) => error),
        }
      : {}),
    max_output_tokens_per_s: result.maxOutputTokensPerS,
    max_concurrent_requests: result.maxConcurrentRequests,
    // The share of audio seconds; there is no audio here.
    ...(savesStartTimes ? { rtfx: 0 } : {}),
  };
}

function poolingPart(result: VllmResult, detailed: boolean): Record<string, unknown> {
  return {
    duration: result.duration,
    completed: result.completed,
    total_input_tokens: result.totalInput,
    request_throughput: result.requestThroughput,
    total_token_throughput: result.totalTokenThroughput,
    ...(detailed
      ? {
          input_lens: result.outputs.map(({ promptTokens }) => promptTokens),
          errors: result.outputs.map(({ error }) => error),
        }
      : {}),
  };
}

function latencyPart({ latencies }: VllmResult): Record<string, number> {
  return Object.fromEntries(
    latencies.flatMap(({ name, mean, median, std, percentiles }) => [
      [`mean_${name}_ms`, mean],
      [`median_${name}_ms`, median],
      [`std_${name}_ms`, std],
      ...percentiles.map(([p, value]) => [`p${p}_${name}_ms`, value] as const),
    ]),
  );
}
