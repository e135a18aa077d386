import { describe, expect, it } from 'vitest';
import type { VllmOutput } from '../../../src/metrics/vllm/output.ts';
import { vllmPeaks } from '../../../src/metrics/vllm/peaks.ts';
import { type VllmResultOptions, vllmResult } from '../../../src/metrics/vllm/result.ts';
import { savedResult } from '../../../src/metrics/vllm/saved.ts';
import { fixtureNames, recorded, recordedVersions, resultOf, vllmFixture } from '../vllm-fixture.ts';
import { output, run } from './outputs.ts';

const options: VllmResultOptions = {
  version: 'vllm-2026-08',
  durationS: 2,
  percentileMetrics: ['ttft', 'tpot', 'itl', 'e2el'],
  percentiles: [99],
};
const of = (outputs: readonly VllmOutput[], changes: Partial<VllmResultOptions> = {}) =>
  vllmResult(outputs, { ...options, ...changes });
const latency = (result: ReturnType<typeof of>, name: string) => result.latencies.find((l) => l.name === name);

describe.each(fixtureNames)('fixture %s', (name) => {
  const fixture = vllmFixture(name);
  it.each(recordedVersions)('gives every figure of %s, and in its order', (version) => {
    const expected = fixture.expected[recorded[version]];
    const saved = savedResult(resultOf(fixture, version), { run, detailed: true });
    expect(saved).toMatchObject(expected);
    // Without the peaks and the arrays, which the file has between them.
    const figures = Object.keys(expected).filter((key) => key !== 'output_lens');
    expect(Object.keys(saved).filter((key) => figures.includes(key))).toEqual(figures);
  });

  it('v0.11.1 has the figures of v0.11.0, and the failed requests', () => {
    const { failed, ...older } = savedResult(resultOf(fixture, 'vllm-0.11.1'), { run, detailed: true });
    expect(older).toEqual(savedResult(resultOf(fixture, 'vllm-0.11.0'), { run, detailed: true }));
    expect(failed).toBe(fixture.expected['2026-08-17'].failed);
  });
});

describe('prompt tokens', () => {
  const outputs = [output({ promptTokensByClient: 100, promptTokens: 111 })];
  it.each([
    ['vllm-0.11.0', 100],
    ['vllm-0.11.1', 100],
    ['vllm-2026-08', 111],
  ] as const)('%s counts %d', (version, tokens) => expect(of(outputs, { version }).totalInput).toBe(tokens));
});

describe('goodput', () => {
  const one = output({ outputTokens: 1, itlS: [] });
  it('takes the TPOT of an answer of one token for 0', () => {
    expect(of([one], { goodput: { tpot: 0.001 } }).requestGoodput).toBe(0.5);
    expect(of([output()], { goodput: { tpot: 0.001 } }).requestGoodput).toBe(0);
  });
  it('wants every limit kept, the limit itself included', () => {
    expect(of([output()], { goodput: { ttft: 250, tpot: 250, e2el: 1000 } }).requestGoodput).toBe(0.5);
    expect(of([output()], { goodput: { ttft: 250, e2el: 999 } }).requestGoodput).toBe(0);
  });
  it('is null without limits', () => expect(of([output()], { goodput: {} }).requestGoodput).toBeNull());
});

describe('tokens of an answer without usage', () => {
  const silent = output({ outputTokens: 0, generatedText: 'a b c' });
  it('are those of its text', () => {
    expect(of([silent], { countTokens: (text) => text.split(' ').length }).outputLens).toEqual([3]);
  });
  it('may have been counted before', () => {
    expect(of([{ ...silent, encodedTokens: 7 }]).outputLens).toEqual([7]);
  });
  it('are one without a tokenizer', () => {
    expect(of([silent, { ...silent, encodedTokens: 7 }], { countTokens: null }).outputLens).toEqual([1, 1]);
  });
});

it('failed requests enter nothing', () => {
  const failed = output({ success: false, latencyS: 0, ttftS: 9, itlS: [9], error: 'no' });
  const [with_, without] = [of([failed, output()]), of([output()])];
  expect({ ...with_, failed: 0, outputLens: [], outputs: [] }).toEqual({ ...without, outputLens: [], outputs: [] });
  expect(with_.outputLens).toEqual([0, 4]);
});

it('pooling has input tokens by the server and E2EL', () => {
  const embedded = output({ promptTokens: 70, outputTokens: 0, itlS: [], ttftS: 1, latencyS: 1 });
  const result = of([embedded, embedded], { pooling: true, version: 'vllm-0.11.0', goodput: { e2el: 1 } });
  expect(result).toMatchObject({ totalInput: 140, totalOutput: 0, totalTokenThroughput: 70, requestGoodput: null });
  expect(result.latencies.map(({ name }) => name)).toEqual(['e2el']);
  expect(latency(result, 'e2el')).toMatchObject({ mean: 1000, std: 0 });
});

describe('peaks, faults included', () => {
  it('a message is a token, whatever it carries', () => {
    expect(vllmPeaks([output({ outputTokens: 400 })]).tokensPerS).toBe(3);
  });
  it('a request is under way in every second that it touched', () => {
    const back = [0, 0.25, 0.5, 0.75].map((startS) => output({ startS, latencyS: 0.25, ttftS: 0.1, itlS: [] }));
    expect(vllmPeaks(back).concurrent).toBe(4);
  });
});
