import { readFileSync } from 'node:fs';
import type { VllmOutput } from '../../src/metrics/vllm/output.ts';
import { type VllmResult, vllmResult } from '../../src/metrics/vllm/result.ts';
import type { VllmVersion } from '../../src/metrics/vllm/version.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import type { GoodputLimits } from '../../src/records/summary.ts';
import { failedRecord, record } from './request-record.ts';

export const fixtureNames = ['basic', 'buckets', 'edge', 'all-failed'] as const;
/** The releases whose figures and blocks are there. */
export const recorded = { 'vllm-0.11.0': 'v0.11.0', 'vllm-2026-08': '2026-08-17' } as const;
export type Recorded = keyof typeof recorded;
export const recordedVersions = Object.keys(recorded) as Recorded[];

/** One request as vLLM's benchmark code recorded it, and what it made of all. Times in seconds, results in ms. */
export interface VllmFixture {
  readonly input: {
    readonly requests: readonly {
      readonly success: boolean;
      readonly request_prompt_len: number;
      readonly server_prompt_len: number;
      readonly output_tokens: number;
      readonly ttft: number;
      readonly itl: readonly number[];
      readonly start_time: number;
      readonly latency: number;
      readonly generated_text: string;
      readonly error: string;
    }[];
    readonly duration: number;
    readonly max_concurrency: number | null;
    readonly metric_percentiles: string;
    readonly percentile_metrics: string;
    readonly goodput: GoodputLimits;
  };
  readonly expected: Readonly<Record<(typeof recorded)[Recorded], Readonly<Record<string, number>>>>;
}

const read = (name: string): string => readFileSync(new URL(`../fixtures/metrics/${name}`, import.meta.url), 'utf8');

export const vllmFixture = (name: string): VllmFixture => JSON.parse(read(`${name}.json`));
export const vllmBlockText = (name: string, version: Recorded = 'vllm-2026-08'): string =>
  read(`${name}.${recorded[version]}.txt`);

/** The outputs as vLLM's benchmark held them. */
export const outputsOf = ({ input }: VllmFixture): VllmOutput[] =>
  input.requests.map((r) => ({
    success: r.success,
    promptTokensByClient: r.request_prompt_len,
    promptTokens: r.server_prompt_len,
    outputTokens: r.output_tokens,
    ttftS: r.ttft,
    itlS: r.itl,
    startS: r.start_time,
    latencyS: r.latency,
    generatedText: r.generated_text,
    error: r.error,
  }));

/** The outputs of a fixture through our code. */
export function resultOf(fixture: VllmFixture, version: VllmVersion): VllmResult {
  const { input } = fixture;
  return vllmResult(outputsOf(fixture), {
    version,
    durationS: input.duration,
    percentileMetrics: input.percentile_metrics.split(','),
    percentiles: input.metric_percentiles.split(',').map(Number),
    goodput: input.goodput,
    countTokens: (text) => (text === '' ? 0 : 13),
  });
}

/**
 * The same requests as our records. The last token stands where vLLM takes the end of a request, so that its E2EL and
 * TPOT can be compared; the last request ends with the load, which gives the load its duration.
 */
export function recordsOf({ input }: VllmFixture): RequestRecord[] {
  const start = Math.min(...input.requests.map((r) => r.start_time));
  const records = input.requests.map((r) => {
    const sendS = r.start_time - start;
    const firstTokenS = sendS + r.ttft;
    if (!r.success) return failedRecord({ sendS, endS: sendS, error: r.error, promptTokens: r.request_prompt_len });
    const tokenTimesS = [firstTokenS];
    for (const gap of r.itl) tokenTimesS.push((tokenTimesS.at(-1) as number) + gap);
    const lastTokenS = sendS + r.latency;
    const promptTokens = r.request_prompt_len;
    return record({ sendS, tokenTimesS, lastTokenS, endS: lastTokenS, promptTokens, outputTokens: r.output_tokens });
  });
  const last = records.at(-1) as RequestRecord;
  return [...records.slice(0, -1), { ...last, endS: input.duration }];
}

/** Equal but for the order of additions: numpy sums in blocks. */
export const near = (value: unknown, want: number): boolean =>
  typeof value === 'number' && Math.abs(value - want) <= 1e-9 * Math.abs(want);
