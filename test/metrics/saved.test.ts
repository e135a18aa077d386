import { describe, expect, it } from 'vitest';
import { savedSummary } from '../../src/metrics/saved.ts';
import { summarize } from '../../src/metrics/summary.ts';
import { savedResult } from '../../src/metrics/vllm/saved.ts';
import { embedding, failedRecord, record } from './request-record.ts';
import { run } from './vllm/outputs.ts';
import { recordsOf, resultOf, vllmFixture } from './vllm-fixture.ts';

const options = {
  run,
  percentileMetrics: ['ttft', 'tpot', 'itl'],
  percentiles: [99],
  client: null,
  problems: [],
  notes: [],
};
const fixture = vllmFixture('basic');
const records = recordsOf(fixture);
const summary = summarize(records, { asked: 5, percentiles: [99] });

describe('a saved summary', () => {
  it.each([false, true])('has the keys of vLLM’s file in its order, and one more (detailed: %s)', (detailed) => {
    const vllm = savedResult(resultOf(fixture, 'vllm-2026-08'), { run, detailed });
    const ours = savedSummary(summary, { ...options, ...(detailed ? { records } : {}) });
    expect(Object.keys(ours)).toEqual([...Object.keys(vllm), 'servetune']);
  });

  it('has our figures in them, and null where nothing was measured', () => {
    const saved = savedSummary(summary, options);
    expect(saved).toMatchObject({
      completed: 5,
      failed: 0,
      total_output_tokens: 50,
      request_goodput: null,
      rtfx: null,
    });
    expect(saved.mean_ttft_ms).toBeCloseTo(106, 9);
    const failed = summarize([failedRecord()], { asked: 1, percentiles: [99] });
    expect(savedSummary(failed, options)).toMatchObject({
      request_throughput: null,
      mean_ttft_ms: null,
      p99_itl_ms: null,
      max_output_tokens_per_s: null,
    });
  });

  it('carries everything else under its own key', () => {
    const saved = savedSummary(summary, { ...options, problems: ['a problem'], notes: ['a note'] });
    expect(saved.servetune).toEqual({
      schema: 1,
      summary,
      client: null,
      problems: ['a problem'],
      notes: ['a note'],
    });
    expect(JSON.parse(JSON.stringify(saved))).toEqual(saved);
  });

  it('has the goodput where limits were given', () => {
    const good = summarize(records, { asked: 5, percentiles: [99], goodput: { ttft: 100 } });
    expect(savedSummary(good, options).request_goodput).toBe(good.goodput?.requestThroughput);
  });
});

it('has a value for each request, in the order of the workload', () => {
  const given = [record({ index: 1, tokens: 1, outputTokens: 3 }), failedRecord({ index: 0, error: '' })];
  const all = summarize(given, { asked: 2, percentiles: [] });
  expect(savedSummary(all, { ...options, records: given })).toMatchObject({
    output_lens: [0, 3], ttfts: [null, null], itls: [[], []], start_times: [0, 0], errors: ['http_error', ''],
  }); // biome-ignore format: one fact a group
});

it('of a load that generates nothing has vLLM’s pooling keys', () => {
  const pooling = [embedding({ serverPromptTokens: 70 })];
  const saved = savedSummary(summarize(pooling, { asked: 1, percentiles: [99] }), {
    ...options,
    percentileMetrics: ['e2el'],
    records: pooling,
  });
  const vllm = savedResult(
    { ...resultOf(fixture, 'vllm-2026-08'), pooling: true, latencies: [] },
    { run, detailed: true },
  );
  const latency = ['mean', 'median', 'std', 'p99'].map((s) => `${s}_e2el_ms`);
  expect(Object.keys(saved)).toEqual([...Object.keys(vllm), ...latency, 'servetune']);
  expect(saved.input_lens).toEqual([70]);
});
