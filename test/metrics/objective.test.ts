import { expect, it } from 'vitest';
import { better, metricUnit, objectiveValue } from '../../src/metrics/objective.ts';
import { summarize } from '../../src/metrics/summary.ts';
import { objectiveMetrics } from '../../src/records/study.ts';
import { failedRecord, record } from './request-record.ts';

const records = [record({ tokens: 101, gapS: 0.02 })];
const summary = summarize(records, { asked: 1, percentiles: [99] });

it.each([
  ['total_token_throughput', 165 / 2.105, 'tok/s', 'higher'],
  ['output_throughput', 101 / 2.105, 'tok/s', 'higher'],
  ['request_throughput', 1 / 2.105, 'req/s', 'higher'],
  ['mean_ttft_ms', 100, 'ms', 'lower'],
  ['p99_ttft_ms', 100, 'ms', 'lower'],
  ['mean_tpot_ms', 20, 'ms', 'lower'],
  ['p99_itl_ms', 20, 'ms', 'lower'],
  ['mean_e2el_ms', 2100, 'ms', 'lower'],
] as const)('%s', (metric, value, unit, direction) => {
  expect(objectiveValue(summary, metric)).toBeCloseTo(value, 6);
  expect([metricUnit(metric), better(metric)]).toEqual([unit, direction]);
});

it.each(objectiveMetrics)('%s is read from a load, and null where nothing succeeded', (metric) => {
  expect(objectiveValue(summary, metric)).toBeGreaterThan(0);
  expect(objectiveValue(summarize([failedRecord()], { asked: 1, percentiles: [99] }), metric)).toBeNull();
});

it('needs percentile 99 for a p99', () => {
  expect(objectiveValue(summarize(records, { asked: 1, percentiles: [50] }), 'p99_ttft_ms')).toBeNull();
});
