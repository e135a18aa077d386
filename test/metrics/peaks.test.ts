import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { peakConcurrency } from '../../src/metrics/concurrency.ts';
import { peakOutputThroughput } from '../../src/metrics/peaks.ts';
import { failedRecord, record } from './request-record.ts';

describe('peak output throughput', () => {
  it('counts tokens, not events: three tokens every 9 ms (case 13)', () => {
    const r = record({ tokens: 334, gapS: 0.009, outputTokens: 1002 });
    const mean = 1002 / r.endS;
    const peak = peakOutputThroughput([r], r.endS) as number;
    expect(peak).toBeGreaterThanOrEqual(mean);
    expect(peak).toBeCloseTo(334, -1);
  });

  it('weighs events by what the server says they carried', () => {
    const tokenTimesS = [0.1, 3.1, 3.2];
    const told = record({ tokenTimesS, tokenCounts: [1, 4, 5], outputTokens: 10 });
    expect(peakOutputThroughput([told], 4)).toBe(9);
    // Counts that do not belong to these events are no counts.
    expect(peakOutputThroughput([{ ...told, tokenCounts: [10] }], 4)).toBeCloseTo(20 / 3, 6);
  });

  it('finds a burst that lies across two whole seconds', () => {
    const times = Array.from({ length: 100 }, (_, i) => 4.5 + i * 0.01);
    expect(peakOutputThroughput([record({ tokenTimesS: times })], 10)).toBe(100);
  });

  it('takes the events of all requests together', () => {
    const records = [0, 0.5, 1].map((sendS) => record({ sendS, tokens: 10, gapS: 0.01 }));
    expect(peakOutputThroughput(records, 5)).toBe(20);
  });

  it('a token at the very end counts', () => {
    expect(peakOutputThroughput([record({ tokenTimesS: [2.99, 3] })], 3)).toBe(2);
  });

  it.each([
    ['of less than a second', peakOutputThroughput([record()], 0.99)],
    ['without a token', peakOutputThroughput([], 10)],
    ['of a few tokens at both ends', peakOutputThroughput([record({ tokenTimesS: [0, 1.4] })], 1.4)],
  ])('there is none in a load %s', (_, peak) => expect(peak).toBeNull());
});

describe('peak concurrency', () => {
  it('counts what is under way at one moment, not what touched the same second', () => {
    const one = [0, 0.25, 0.5, 0.75].map((sendS) => record({ sendS, endS: sendS + 0.25 }));
    expect(peakConcurrency(one)).toBe(1);
    expect(peakConcurrency([...one, failedRecord({ sendS: 0.1, endS: 0.4 })])).toBe(2);
  });

  it('counts a request that took no time', () => {
    expect(peakConcurrency([failedRecord({ sendS: 1, endS: 1 })])).toBe(1);
  });

  it('is what counting at every send time gives', () => {
    const span = fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 1, max: 10 }));
    fc.assert(
      fc.property(fc.array(span, { minLength: 1, maxLength: 30 }), (spans) => {
        const counts = spans.map(([at]) => spans.filter(([from, length]) => from <= at && at < from + length).length);
        const records = spans.map(([sendS, length]) => record({ sendS, endS: sendS + length }));
        expect(peakConcurrency(records)).toBe(Math.max(...counts));
      }),
    );
  });
});
