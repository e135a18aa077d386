import { describe, expect, it } from 'vitest';
import { resultBlock } from '../../src/metrics/result-block.ts';
import { summarize } from '../../src/metrics/summary.ts';
import type { Distribution, Summary } from '../../src/records/summary.ts';
import { embedding, failedRecord } from './request-record.ts';
import { recordsOf, vllmBlockText, vllmFixture } from './vllm-fixture.ts';

const shown = { percentileMetrics: ['ttft', 'tpot', 'itl'], percentiles: [99] };

/** vLLM's own results as a summary, so that nothing but the layout is compared. */
function summaryOf(name: string): Summary {
  const { input, expected } = vllmFixture(name);
  const e = expected['2026-08-17'] as Record<string, number>;
  const sample = (metric: string): Distribution => ({
    n: 1,
    mean: (e[`mean_${metric}_ms`] as number) / 1000,
    median: (e[`median_${metric}_ms`] as number) / 1000,
    sd: 0,
    min: 0,
    max: 0,
    percentiles: { 99: (e[`p99_${metric}_ms`] as number) / 1000 },
  });
  return {
    ...summarize(recordsOf(vllmFixture(name)), { asked: input.requests.length, percentiles: [99] }),
    durationS: e.duration as number,
    requestThroughput: e.request_throughput as number,
    outputThroughput: e.output_throughput as number,
    totalTokenThroughput: e.total_token_throughput as number,
    peakOutputThroughput: e.max_output_tokens_per_s as number,
    peakConcurrency: e.max_concurrent_requests as number,
    latencies: { ttft: sample('ttft'), tpot: sample('tpot'), itl: sample('itl') },
  };
}

it.each(['basic', 'buckets'])('prints the results of fixture %s as vLLM does, to the byte', (name) => {
  const maxConcurrency = vllmFixture(name).input.max_concurrency ?? undefined;
  expect(`${resultBlock(summaryOf(name), { ...shown, maxConcurrency })}\n`).toBe(vllmBlockText(name));
});

describe('a load in which everything failed', () => {
  const summary = summarize([failedRecord({ endS: 1.5 })], { asked: 1, percentiles: [99] });
  const block = resultBlock(summary, { ...shown, requestRate: 2.5 });
  it('shows no figure that was not measured', () => {
    expect(block).not.toMatch(/NaN|null|0\.00/);
    expect(block).toContain(`${'P99 ITL (ms):'.padEnd(40)} -         `);
  });
  it('has the layout of any other', () => {
    const labels = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => line.slice(0, 40));
    const vllm = labels(vllmBlockText('all-failed')).filter((label) => !label.startsWith('Request goodput'));
    expect(labels(block).filter((label) => !label.startsWith('Request rate'))).toEqual(vllm);
  });
});

it('adds what was limited, in its place', () => {
  const lines = resultBlock(summaryOf('basic'), { ...shown, maxConcurrency: 16, requestRate: 2.5 }).split('\n');
  expect(lines.slice(3, 5)).toEqual([
    'Maximum request concurrency:             16        ',
    'Request rate configured (RPS):           2.50      ',
  ]);
  expect(resultBlock(summaryOf('basic'), { ...shown, requestRate: Number.POSITIVE_INFINITY })).not.toContain('RPS');
});

it('shows the sections and percentiles that were asked for', () => {
  const summary = summarize(recordsOf(vllmFixture('basic')), { asked: 5, percentiles: [50, 99.9] });
  const block = resultBlock(summary, { percentileMetrics: ['e2el'], percentiles: [50, 99.9] });
  expect(block.split('\n').slice(-6).map((line) => line.slice(0, 40).trim())).toEqual([
    '----------------End-to-end Latency------',
    'Mean E2EL (ms):', 'Median E2EL (ms):', 'P50 E2EL (ms):', 'P99.9 E2EL (ms):',
    '='.repeat(40),
  ]); // biome-ignore format: one line a section
});

it('says in the header when no engine ran', () => {
  const [header] = resultBlock(summaryOf('basic'), { ...shown, simulated: true }).split('\n');
  expect(header).toMatch(/^=+ SIMULATED Serving Benchmark Result =+$/);
  expect(header).toHaveLength(50);
});

it('has the goodput in its place when limits were given', () => {
  const goodput = { limitsMs: { ttft: 100 }, good: 2, share: 0.4, requestThroughput: 0.94, outputThroughput: 9.4 };
  const lines = resultBlock({ ...summaryOf('basic'), goodput }, shown).split('\n');
  const at = lines.indexOf(`${'Request goodput (req/s):'.padEnd(40)} 0.94      `);
  expect(lines[at - 1]).toMatch(/^Request throughput/);
  expect(lines[at + 1]).toMatch(/^Output token throughput/);
});

it('has no figure of output tokens where nothing is generated', () => {
  const summary = summarize([embedding()], { asked: 1, percentiles: [99] });
  const block = resultBlock(summary, { percentileMetrics: ['ttft', 'e2el'], percentiles: [99] });
  expect(block.split('\n').map((line) => line.slice(0, 32).trim())).toEqual([
    '============ Serving Benchmark R', 'Successful requests:', 'Failed requests:', 'Benchmark duration (s):', 'Total input tokens:',
    'Request throughput (req/s):', 'Total token throughput (tok/s):', '----------------End-to-end Laten', 'Mean E2EL (ms):',
    'Median E2EL (ms):', 'P99 E2EL (ms):', '='.repeat(32),
  ]); // biome-ignore format: lines of the block
});
