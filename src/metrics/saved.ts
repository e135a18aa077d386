import type { RecordList, RequestRecord } from '../records/request.ts';
import type { ClientHealth, Summary } from '../records/summary.ts';
import { itl } from './itl.ts';
import { configurationPart, type RunFacts, strictJson } from './run-facts.ts';
import { ttft } from './ttft.ts';

export interface SavedSummaryOptions {
  readonly run: RunFacts;
  /** Names in `metrics/table.ts` whose statistics get keys of their own. */
  readonly percentileMetrics: readonly string[];
  /** The summary must have been made with them. */
  readonly percentiles: readonly number[];
  readonly client: ClientHealth | null;
  /** Why the numbers must not be believed. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
  /** With them, as `--save-detailed` asks: also an array with a value for each request, in the order of the workload. */
  readonly records?: RecordList | undefined;
}

/**
 * A saved result by servetune's own definitions: the keys of vLLM's newest saved JSON in their order, so that whatever
 * reads those reads this, with the figures of the summary in them (null where not measured) and everything else under
 * `servetune`, with the version of that part. A plain object, strict JSON.
 */
export function savedSummary(summary: Summary, options: SavedSummaryOptions): Record<string, unknown> {
  const { run, client, problems, notes } = options;
  const changes = run.rampUp?.changes ?? [];
  return strictJson({
    ...configurationPart(run),
    ...(summary.pooling ? poolingPart(summary, options.records) : generationPart(summary, options.records)),
    ...(changes.length === 0 ? {} : { rps_change_events: changes }),
    ...latencyPart(summary, options),
    servetune: { schema: 1, summary, client, problems, notes },
  }) as Record<string, unknown>;
}

function generationPart(summary: Summary, records?: RecordList): Record<string, unknown> {
  return {
    duration: summary.durationS,
    completed: summary.ok,
    failed: summary.failed,
    total_input_tokens: summary.inputTokens,
    total_output_tokens: summary.outputTokens,
    request_throughput: summary.requestThroughput,
    request_goodput: summary.goodput?.requestThroughput ?? null,
    output_throughput: summary.outputThroughput,
    total_token_throughput: summary.totalTokenThroughput,
    ...(records === undefined ? {} : arrays(inOrder(records))),
    max_output_tokens_per_s: summary.peakOutputThroughput,
    max_concurrent_requests: summary.peakConcurrency,
    rtfx: null,
  };
}

function poolingPart(summary: Summary, records?: RecordList): Record<string, unknown> {
  return {
    duration: summary.durationS,
    completed: summary.ok,
    total_input_tokens: summary.inputTokens,
    request_throughput: summary.requestThroughput,
    total_token_throughput: summary.totalTokenThroughput,
    ...(records === undefined
      ? {}
      : { input_lens: inOrder(records).map(promptTokens), errors: inOrder(records).map(errorOf) }),
  };
}

const arrays = (records: readonly RequestRecord[]): Record<string, unknown> => ({
  input_lens: records.map(promptTokens),
  output_lens: records.map(({ outcome, outputTokens }) => (outcome === 'ok' ? outputTokens : 0)),
  ttfts: records.map((record) => ttft.of(record)[0] ?? null),
  itls: records.map((record) => itl.of(record)),
  start_times: records.map(({ sendS }) => sendS),
  generated_texts: records.map(({ text }) => text ?? ''),
  errors: records.map(errorOf),
});

const inOrder = (records: RecordList): readonly RequestRecord[] => [...records].sort((a, b) => a.index - b.index);
const promptTokens = (r: RequestRecord): number => r.serverPromptTokens ?? r.promptTokens;
/** Never empty for a request that failed: readers take the empty text for success. */
const errorOf = ({ outcome, error }: RequestRecord): string => (outcome === 'ok' ? '' : error || outcome);

function latencyPart({ latencies }: Summary, options: SavedSummaryOptions): Record<string, number | null> {
  const ms = (valueS: number | null | undefined): number | null => (valueS == null ? null : valueS * 1000);
  return Object.fromEntries(
    Object.entries(latencies)
      .filter(([name]) => options.percentileMetrics.includes(name))
      .flatMap(([name, sample]) => [
        [`mean_${name}_ms`, ms(sample.mean)],
        [`median_${name}_ms`, ms(sample.median)],
        [`std_${name}_ms`, ms(sample.sd)],
        ...options.percentiles.map((p) => [`p${p}_${name}_ms`, ms(sample.percentiles[String(p)])] as const),
      ]),
  );
}
