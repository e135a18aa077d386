import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { summarize } from '../../src/metrics/summary.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import { failedRecord, record } from './request-record.ts';
import { recordsOf, vllmFixture } from './vllm-fixture.ts';

const of = (records: readonly RequestRecord[], asked = records.length) =>
  summarize(records, { asked, percentiles: [50, 99] });

/** Equal but for the order of additions: numpy sums in blocks. */
const close = (value: number | null | undefined, want: number | undefined): void => {
  expect(Math.abs((value as number) - (want as number))).toBeLessThanOrEqual(1e-9 * Math.abs(want as number));
};

describe.each(['basic', 'buckets'])('the requests of fixture %s', (name) => {
  const fixture = vllmFixture(name);
  const expected = fixture.expected['2026-08-17'];
  const summary = of(recordsOf(fixture));

  it('give the same totals', () => {
    expect([summary.ok, summary.failed]).toEqual([expected.completed, 0]);
    expect(summary.inputTokens).toBe(expected.total_input_tokens);
    expect(summary.outputTokens).toBe(expected.total_output_tokens);
  });

  it.each(['ttft', 'tpot', 'itl'])('give the same %s', (metric) => {
    const sample = summary.latencies[metric];
    const ms = (value: number | null | undefined): number => (value as number) * 1000;
    close(ms(sample?.mean), expected[`mean_${metric}_ms`]);
    close(ms(sample?.median), expected[`median_${metric}_ms`]);
    close(ms(sample?.sd), expected[`std_${metric}_ms`]);
    close(ms(sample?.percentiles['99']), expected[`p99_${metric}_ms`]);
  });
});

// The duration of the other fixture was made up, and ends before its last request does.
it('gives the same duration and throughputs as vLLM', () => {
  const fixture = vllmFixture('basic');
  const expected = fixture.expected['2026-08-17'];
  const summary = of(recordsOf(fixture));
  close(summary.durationS, expected.duration);
  close(summary.requestThroughput, expected.request_throughput);
  close(summary.outputThroughput, expected.output_throughput);
  close(summary.totalTokenThroughput, expected.total_token_throughput);
});

it('reports a load in which everything failed', () => {
  const summary = of([failedRecord({ error: 'too long' }), failedRecord(), failedRecord({ error: 'too long' })], 5);
  expect(summary).toMatchObject({
    asked: 5, ok: 0, failed: 3, notSent: 2,
    outcomes: { http_error: 3 },
    errors: [{ text: 'too long', count: 2 }, { text: 'HTTP 400', count: 1 }],
    inputTokens: 0, outputTokens: 0,
    requestThroughput: null, outputThroughput: null, totalTokenThroughput: null, peakOutputThroughput: null,
    peakConcurrency: 3,
    latencies: { ttft: { n: 0, mean: null, median: null, sd: null, min: null, max: null, percentiles: { 50: null, 99: null } } },
  }); // biome-ignore format: one fact a group
});

it('is all null when nothing was sent', () => {
  expect(of([], 3)).toMatchObject({
    asked: 3,
    notSent: 3,
    durationS: 0,
    requestThroughput: null,
    peakConcurrency: null,
  });
});

it('counts the tokens of ok requests only, by the server where it tells', () => {
  const summary = of([
    record({ serverPromptTokens: 75 }),
    record({}),
    record({ outcome: 'truncated', serverPromptTokens: 75 }),
  ]);
  expect(summary).toMatchObject({ inputTokens: 75 + 64, inputTokensByClient: 128, outputTokens: 10, failed: 1 });
});

it('lasts from the start of the load to the end of the last request, failed ones too', () => {
  expect(of([record({ sendS: 1, endS: 2 }), failedRecord({ endS: 4 })])).toMatchObject({
    durationS: 4,
    requestThroughput: 0.25,
  });
});

it('keeps ten error texts', () => {
  const records = Array.from({ length: 12 }, (_, i) => failedRecord({ error: `error ${i}` }));
  expect(of(records).errors).toHaveLength(10);
});

it('a load that went on past what was asked was asked for what it sent', () => {
  expect(of([record(), record()], 1)).toMatchObject({ asked: 2, ok: 2, notSent: 0 });
});

it('holds for any load: counts add up, and nothing is NaN', () => {
  const time = fc.double({ min: 0, max: 100, noNaN: true });
  const request = fc.record({
    ok: fc.boolean(), sendS: time, tokens: fc.integer({ min: 1, max: 20 }), perEvent: fc.integer({ min: 1, max: 4 }), gapS: fc.double({ min: 0, max: 2, noNaN: true }),
  }); // biome-ignore format: one request
  fc.assert(
    fc.property(fc.array(request, { maxLength: 20 }), fc.nat(10), (requests, unsent) => {
      const summary = of(
        requests.map(({ ok, sendS, tokens, perEvent, gapS }) =>
          ok ? record({ sendS, tokens, gapS, outputTokens: tokens * perEvent }) : failedRecord({ sendS, endS: sendS }),
        ),
        requests.length + unsent,
      );
      expect(summary.ok + summary.failed + summary.notSent).toBe(summary.asked);
      expect(JSON.stringify(summary, (_, v) => (Number.isNaN(v) || v === Infinity ? 'bad' : v))).not.toContain('"bad"');
      if (summary.peakOutputThroughput !== null) {
        expect(summary.peakOutputThroughput).toBeGreaterThanOrEqual(summary.outputThroughput as number);
      }
    }),
  );
});
