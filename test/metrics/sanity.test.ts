import { describe, expect, it } from 'vitest';
import { sanityOfFigures, sanityProblems } from '../../src/metrics/sanity.ts';
import { summarize } from '../../src/metrics/summary.ts';
import type { Summary } from '../../src/records/summary.ts';
import { embedding, failedRecord, record } from './request-record.ts';

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

it('tells what kept the length from being pinned where that is known', () => {
  const problems = sanityProblems({ ...good, outputTokensAsked: 1100 }, { unpinnedBy: 'since it is refused' });
  expect(problems).toEqual([expect.stringMatching(/was not pinned, since it is refused\.$/)]);
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

it('finds nothing wrong with a server that does not stream, or does not generate', () => {
  const whole = Array.from({ length: 3 }, (_, i) => record({ sendS: i, tokens: 1, outputTokens: 30 }));
  expect(sanityProblems(summarize(whole, { asked: 3, percentiles: [] }))).toEqual([]);
  const pooling = [0, 1, 2].map((sendS) => embedding({ sendS }));
  expect(sanityProblems(summarize(pooling, { asked: 3, percentiles: [] }))).toEqual([]);
});

it('misses the time to first token where there was a stream', () => {
  const latencies = {
    ...good.latencies,
    ttft: { ...sample, n: 0, median: null },
    e2el: { ...sample, n: 0, median: null },
  };
  expect(sanityProblems({ ...good, latencies })).toEqual(['No time to first token was measured.']);
});

describe('figures of somebody else (case 63)', () => {
  // As published for a 9B model with speculative decoding.
  const published = {
    asked: 1000, ok: 514, durationS: 12.27, inputTokens: 65_400, outputTokens: 66_130, totalTokenThroughput: 12_792,
    outputThroughput: 5_390, peakOutputThroughput: 20_132_659, medians: { ttft: 0, tpot: 0.0002, itl: 0, e2el: 1.2 },
  }; // biome-ignore format: one fact a group
  it('are rejected for every reason at once', () => {
    const problems = sanityOfFigures(published);
    expect(problems).toEqual([
      expect.stringMatching(/^486 of 1000 requests did not succeed/),
      expect.stringMatching(/^The total token throughput is 12792\.00\/s, but 131530 over 12\.27 s are 10719\.64/),
      expect.stringMatching(/^The peak is over 20 times the mean/),
      expect.stringMatching(/^The median TTFT is 0\.00 ms/),
      expect.stringMatching(/^The median ITL is 0\.00 ms/),
    ]);
  });

  it.each<[string, Parameters<typeof sanityOfFigures>[0], RegExp[]]>([
    ['nothing known', {}, []],
    ['nothing completed', { ok: 0, outputThroughput: 5, peakOutputThroughput: 1 }, [/^Not one request succeeded\.$/]],
    ['nothing completed of some', { asked: 9, ok: 0, error: 'refused' }, [/^Not one of 9 requests succeeded: refused\.$/]],
    ['sound ones', { asked: 10, ok: 10, failed: 0, durationS: 2, requestThroughput: 5.04, medians: { ttft: 0.1, tpot: null } }, []],
    ['failures without a total', { ok: 3, failed: 2 }, [/^2 requests failed\.$/]],
    ['requests that nobody saw', { asked: 2400, ok: 2394, failed: 0 }, [/^6 of 2400 requests neither/]],
    ['more than were asked for', { asked: 5, ok: 6 }, [/^5 requests were asked for, but 6 ok are not/]],
    ['a throughput 1.5 % off', { ok: 100, durationS: 10, requestThroughput: 10.15 }, [/^The request throughput/]],
    ['no duration', { ok: 1, durationS: 0 }, [/no duration/]],
    ['a peak below the mean', { outputThroughput: 5, peakOutputThroughput: 4 }, [/below the mean/]],
    ['the zeros of answers of one token', { ok: 8, outputTokens: 8, medians: { ttft: 0.1, tpot: 0, itl: 0 } }, []],
    ['zeros of longer answers', { ok: 8, outputTokens: 16, medians: { tpot: 0 } }, [/median TPOT/]],
  ])('judges %s', (_, figures, sentences) => {
    expect(sanityOfFigures(figures)).toEqual(sentences.map((sentence) => expect.stringMatching(sentence)));
  }); // biome-ignore format: one case a line
});
