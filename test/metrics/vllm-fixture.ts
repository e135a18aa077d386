import { readFileSync } from 'node:fs';
import type { RequestRecord } from '../../src/records/request.ts';
import { failedRecord, record } from './request-record.ts';

/** One request as vLLM's benchmark code recorded it, and what it made of all. Times in seconds, results in ms. */
export interface VllmFixture {
  readonly input: {
    readonly requests: readonly {
      readonly success: boolean;
      readonly request_prompt_len: number;
      readonly output_tokens: number;
      readonly ttft: number;
      readonly itl: readonly number[];
      readonly start_time: number;
      readonly latency: number;
      readonly error: string;
    }[];
    readonly duration: number;
    readonly max_concurrency: number | null;
  };
  readonly expected: { readonly '2026-08-17': Readonly<Record<string, number>> };
}

const read = (name: string): string => readFileSync(new URL(`../fixtures/metrics/${name}`, import.meta.url), 'utf8');

export const vllmFixture = (name: string): VllmFixture => JSON.parse(read(`${name}.json`));
export const vllmBlock = (name: string): string => read(`${name}.txt`);

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
