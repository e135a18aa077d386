import { expect, it } from 'vitest';
import type { RunFacts } from '../../../src/metrics/run-facts.ts';
import { vllmResult } from '../../../src/metrics/vllm/result.ts';
import { savedResult } from '../../../src/metrics/vllm/saved.ts';
import type { VllmVersion } from '../../../src/metrics/vllm/version.ts';
import { output, run } from './outputs.ts';

const outputs = [
  output({ generatedText: 'four words of text' }),
  output({ success: false, latencyS: 0, error: 'Bad Request' }),
];
const saved = (
  version: VllmVersion,
  { detailed = false, pooling = false, facts = run }: { detailed?: boolean; pooling?: boolean; facts?: RunFacts } = {},
) => {
  const options = { version, durationS: 2, percentileMetrics: ['ttft', 'e2el'], percentiles: [99, 99.9], pooling };
  return savedResult(vllmResult(outputs, options), { run: facts, detailed });
};

const config = [
  'date',
  'endpoint_type',
  'backend',
  'label',
  'model_id',
  'tokenizer_id',
  'num_prompts',
  'request_rate',
  'burstiness',
  'max_concurrency',
];
const totals = [
  'total_input_tokens',
  'total_output_tokens',
  'request_throughput',
  'request_goodput',
  'output_throughput',
  'total_token_throughput',
];
const peaks = ['max_output_tokens_per_s', 'max_concurrent_requests'];
const latencies = (name: string) => ['mean', 'median', 'std', 'p99', 'p99.9'].map((s) => `${s}_${name}_ms`);

it.each([
  ['vllm-0.11.0', ['duration', 'completed', ...totals], peaks],
  ['vllm-0.11.1', ['duration', 'completed', 'failed', ...totals], peaks],
  ['vllm-2026-08', ['duration', 'completed', 'failed', ...totals], [...peaks, 'rtfx']],
] as const)('%s has its keys in its order', (version, before, after) => {
  expect(Object.keys(saved(version))).toEqual([
    ...config,
    ...before,
    ...after,
    ...latencies('ttft'),
    ...latencies('e2el'),
  ]);
  const arrays = [
    'input_lens',
    'output_lens',
    'ttfts',
    'itls',
    ...(version === 'vllm-2026-08' ? ['start_times'] : []),
    'generated_texts',
    'errors',
  ];
  const detailed = saved(version, { detailed: true });
  expect(Object.keys(detailed).slice(config.length + before.length, -10 - after.length)).toEqual(arrays);
  expect(detailed).toMatchObject({
    output_lens: [4, 0],
    itls: [
      [0.25, 0.25, 0.25],
      [0.25, 0.25, 0.25],
    ],
    generated_texts: ['four words of text', ''],
    errors: ['', 'Bad Request'],
  });
});

it.each(['vllm-0.11.0', 'vllm-2026-08'] as const)('%s saves a pooling task without output tokens', (version) => {
  const keys = ['duration', 'completed', 'total_input_tokens', 'request_throughput', 'total_token_throughput'];
  expect(Object.keys(saved(version, { pooling: true }))).toEqual([...config, ...keys, ...latencies('e2el')]);
  expect(saved(version, { pooling: true, detailed: true })).toMatchObject({
    input_lens: [64, 64],
    errors: ['', 'Bad Request'],
  });
});

it('writes an infinite rate as text, metadata as keys, and the ramp with its changes', () => {
  const rampUp = {
    strategy: 'linear',
    startRps: 1,
    endRps: 5,
    changes: [{ rps: 1, timestamp: '2026-08-17T12:00:00' }],
  };
  const result = saved('vllm-0.11.0', { facts: { ...run, metadata: { tp: '2', burstiness: 'overwritten' }, rampUp } });
  expect(result).toMatchObject({
    request_rate: 'inf',
    burstiness: 1,
    tp: '2',
    ramp_up_strategy: 'linear',
    ramp_up_end_rps: 5,
    rps_change_events: rampUp.changes,
  });
  expect(saved('vllm-0.11.0', { facts: { ...run, requestRate: 2.5 } }).request_rate).toBe(2.5);
});

it('is strict JSON: what is no number is null', () => {
  const options = { version: 'vllm-2026-08', durationS: 0, percentileMetrics: [], percentiles: [] } as const;
  const result = savedResult(vllmResult(outputs, options), { run, detailed: true });
  expect(result).toMatchObject({ request_throughput: null, output_throughput: null });
  expect(JSON.parse(JSON.stringify(result))).toEqual(result);
});
