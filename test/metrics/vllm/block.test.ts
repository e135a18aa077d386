import { describe, expect, it } from 'vitest';
import { vllmBlock, vllmPreface } from '../../../src/metrics/vllm/block.ts';
import { vllmResult } from '../../../src/metrics/vllm/result.ts';
import { vllmVersions } from '../../../src/metrics/vllm/version.ts';
import { fixtureNames, recordedVersions, resultOf, vllmBlockText, vllmFixture } from '../vllm-fixture.ts';
import { output } from './outputs.ts';

const labels = (block: string): string[] => block.split('\n').map((line) => line.slice(0, 40).trim());

describe.each(fixtureNames)('fixture %s', (name) => {
  const fixture = vllmFixture(name);
  const maxConcurrency = fixture.input.max_concurrency;
  it.each(recordedVersions)('is printed as %s prints it, to the byte', (version) => {
    expect(`${vllmBlock(resultOf(fixture, version), { maxConcurrency })}\n`).toBe(vllmBlockText(name, version));
  });

  it('v0.11.1 prints the block of v0.11.0 and the failed requests', () => {
    const lines = vllmBlock(resultOf(fixture, 'vllm-0.11.1'), { maxConcurrency }).split('\n');
    expect(lines.splice(2, 1)).toEqual([expect.stringMatching(/^Failed requests: {25}\d {9}$/)]);
    expect(`${lines.join('\n')}\n`).toBe(vllmBlockText(name, 'vllm-0.11.0'));
  });
});

const options = { durationS: 2, percentileMetrics: ['ttft', 'e2el'], percentiles: [50, 99.9] };

it('shows limits that were set, in their place', () => {
  const result = vllmResult([output()], { ...options, version: 'vllm-0.11.0' });
  const lines = vllmBlock(result, { maxConcurrency: 16, requestRate: 2.5 }).split('\n');
  expect(lines.slice(2, 4)).toEqual([
    'Maximum request concurrency:             16        ',
    'Request rate configured (RPS):           2.50      ',
  ]);
  expect(labels(vllmBlock(result))).toContain('P99.9 E2EL (ms):');
});

it('without a tokenizer leaves out what counts tokens', () => {
  const result = vllmResult([output()], { ...options, version: 'vllm-2026-08', countTokens: null });
  expect(labels(vllmBlock(result))).toEqual([
    expect.any(String), 'Successful requests:', 'Failed requests:', 'Benchmark duration (s):', 'Total input tokens:',
    'Request throughput (req/s):', 'Peak concurrent requests:', '----------------End-to-end Latency------',
    'Mean E2EL (ms):', 'Median E2EL (ms):', 'P50 E2EL (ms):', 'P99.9 E2EL (ms):', '='.repeat(40),
  ]); // biome-ignore format: lines of the block
});

it.each(vllmVersions)('%s prints a pooling task without output tokens and peaks', (version) => {
  const result = vllmResult([output()], { ...options, version, pooling: true });
  expect(labels(vllmBlock(result)).filter((label) => !label.startsWith('Failed'))).toEqual([
    expect.any(String), 'Successful requests:', 'Benchmark duration (s):', 'Total input tokens:', 'Request throughput (req/s):',
    expect.stringMatching(/^Total [Tt]oken throughput/), '----------------End-to-end Latency------',
    'Mean E2EL (ms):', 'Median E2EL (ms):', 'P50 E2EL (ms):', 'P99.9 E2EL (ms):', '='.repeat(40),
  ]); // biome-ignore format: lines of the block
  expect(vllmPreface(result)).toEqual([]);
});

describe('the lines before it', () => {
  const failed = Array.from({ length: 12 }, (_, i) => output({ success: false, error: `Bad Request ${i}` }));
  const tip = 'tip: install termplotlib and gnuplot to plot the metrics';
  const preface = (version: (typeof vllmVersions)[number], outputs = [...failed, output()]) =>
    vllmPreface(vllmResult(outputs, { ...options, version }));

  it.each(['vllm-0.11.0', 'vllm-0.11.1'] as const)('%s gives the tip only', (version) => {
    expect(preface(version)).toEqual([tip]);
  });
  it('the newest lists ten errors', () => {
    const lines = preface('vllm-2026-08');
    expect(lines).toHaveLength(12);
    expect([lines[0], lines[1], lines[10], lines[11]]).toEqual([
      'Failed requests during benchmark run detected (capping to 10):',
      'Error 0: Bad Request 0',
      'Error 9: Bad Request 9',
      tip,
    ]);
  });
  it('no tip where nothing succeeded', () => {
    expect(preface('vllm-0.11.0', failed)).toEqual([]);
    expect(preface('vllm-2026-08', failed)).not.toContain(tip);
  });
});
