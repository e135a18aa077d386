import { expect, it } from 'vitest';
import { sanityProblems } from '../../src/metrics/sanity.ts';
import { summarize } from '../../src/metrics/summary.ts';
import type { Summary } from '../../src/records/summary.ts';
import { failedRecord, record } from './request-record.ts';

const load = Array.from({ length: 50 }, (_, i) => record({ sendS: i * 0.1, tokens: 20 }));
const good = summarize(load, { asked: 50, percentiles: [99] });
const sample = good.latencies.ttft as Summary['latencies'][string];

it('finds nothing in a sound load', () => {
  expect(good.peakOutputThroughput).not.toBeNull();
  expect(sanityProblems(good)).toEqual([]);
});

it.each<[string, Summary, RegExp]>([
  ['nothing ok', summarize([failedRecord({ error: 'no' })], { asked: 1, percentiles: [] }), /^Not one of 1 requests succeeded: no\.$/],
  ['nothing at all', summarize([], { asked: 0, percentiles: [] }), /^Not one of 0/],
  ['one failure', summarize([...load, failedRecord()], { asked: 51, percentiles: [] }), /^1 of 51 requests failed: HTTP 400\.$/],
  ['requests never sent', summarize(load, { asked: 60, percentiles: [] }), /^10 of 60 requests were never sent/],
  ['counts that do not add up', { ...good, asked: 51 }, /not that many/],
  ['a length that was not pinned', { ...good, outputTokensAsked: 1100 }, /was not pinned/],
  ['a throughput that its total contradicts', { ...good, totalTokenThroughput: 12792 }, /^The total token throughput is 12792\.00\/s, but/],
  ['a peak below the mean', { ...good, peakOutputThroughput: 10 }, /^The peak is below the mean/],
  ['a peak beyond belief', { ...good, peakOutputThroughput: 20_132_659 }, /^The peak is over 20 times the mean/],
  ['a median of nothing', { ...good, latencies: { ...good.latencies, itl: { ...sample, median: 0 } } }, /^The median ITL is 0\.00 ms/],
])('rejects %s', (_, summary, sentence) => {
  const problems = sanityProblems(summary);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(sentence);
}); // biome-ignore format: one case a line

it('rejects a load without a duration', () => {
  const summary = {
    ...good,
    durationS: 0,
    requestThroughput: null,
    outputThroughput: null,
    totalTokenThroughput: null,
  };
  expect(sanityProblems(summary)).toContain('The load has no duration.');
});

it('lets answers end by themselves where that was asked for', () => {
  expect(sanityProblems({ ...good, outputTokensAsked: 1100 }, { pinnedOutput: false })).toEqual([]);
});

it('allows a high peak where requests are rare', () => {
  const rare = [0, 100, 200].map((sendS) => record({ sendS, tokens: 50, gapS: 0.01 }));
  const summary = summarize(rare, { asked: 3, percentiles: [] });
  expect((summary.peakOutputThroughput as number) / (summary.outputThroughput as number)).toBeGreaterThan(20);
  expect(sanityProblems(summary)).toEqual([]);
});
