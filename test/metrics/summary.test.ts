import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { summarize } from '../../src/metrics/summary.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import { embedding, failedRecord, record } from './request-record.ts';
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

it('counts the prompt tokens from a cache of ok requests, where the server told of any (case 53)', () => {
  expect(of([record(), record()]).cachedInputTokens).toBeNull();
  expect(of([record({ cachedTokens: 0 })]).cachedInputTokens).toBe(0);
  const failed = failedRecord({ cachedTokens: 64 });
  expect(of([record({ cachedTokens: 16 }), record(), record({ cachedTokens: 32 }), failed]).cachedInputTokens).toBe(48);
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

it('shows how many tokens an event carried', () => {
  expect(of([record({ tokens: 10, outputTokens: 30 }), record({ tokens: 10 })]).tokensPerEvent).toBe(2);
  expect(of([failedRecord()]).tokensPerEvent).toBeNull();
});

it('averages the concurrency over the time', () => {
  expect(of([0, 1, 1].map((sendS) => record({ sendS, endS: 2 }))).meanConcurrency).toBe(2);
});

describe('a load that generates nothing', () => {
  const summary = of([
    embedding(),
    embedding({ sendS: 1, serverPromptTokens: 66 }),
    failedRecord({ outputTokensAsked: 0 }),
  ]);
  it('has input tokens and E2EL, and nothing of output tokens', () => {
    expect(summary).toMatchObject({
      ok: 2, failed: 1, pooling: true, inputTokens: 130, outputTokens: 0, outputTokensAsked: 0,
      outputThroughput: null, peakOutputThroughput: null, tokensPerEvent: null, warnings: [],
    }); // biome-ignore format: one fact a group
    close(summary.totalTokenThroughput, 130 / 1.2);
    close(summary.latencies.e2el?.mean, 0.2);
    const others = ['ttft', 'tpot', 'itl', 'stream_end', 'answer_ttft'];
    expect(others.map((name) => summary.latencies[name]?.n)).toEqual(others.map(() => 0));
  });
});

it('counts goodput only when limits were given', () => {
  const records = [record({ tokens: 5 }), record({ tokens: 5, gapS: 0.2 }), failedRecord()];
  expect(of(records)).not.toHaveProperty('goodput');
  const { goodput } = summarize(records, { asked: 4, percentiles: [], goodput: { tpot: 50 } });
  expect(goodput).toMatchObject({ limitsMs: { tpot: 50 }, good: 1, share: 0.25 });
});

it('relates nothing where send times are not known', () => {
  const summary = summarize([record(), record()], { asked: 2, percentiles: [], sendTimesKnown: false, durationS: 10 });
  expect(summary).toMatchObject({
    durationS: 10,
    requestThroughput: 0.2,
    peakConcurrency: null,
    peakOutputThroughput: null,
    steady: null,
  });
  expect(summary.steadyReason).toMatch(/not known/);
});

it('passes on what the maker of the prompts remarked', () => {
  expect(summarize([record()], { asked: 1, percentiles: [], notes: ['Prompts repeat.'] }).warnings).toEqual([
    'Prompts repeat.',
  ]);
});
