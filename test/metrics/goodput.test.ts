import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { goodput, isGood } from '../../src/metrics/goodput.ts';
import { failedRecord, record } from './request-record.ts';

// TTFT 100 ms, TPOT 20 ms, E2EL 180 ms.
const five = record({ tokens: 5 });

it.each([
  ['within every limit', { ttft: 101, tpot: 21, e2el: 181 }, true],
  ['no limit named', {}, true],
  ['TTFT over', { ttft: 99, tpot: 21, e2el: 181 }, false],
  ['TPOT over', { tpot: 19 }, false],
  ['E2EL over', { e2el: 179 }, false],
])('a request is good or not: %s', (_, limits, good) => expect(isGood(five, limits)).toBe(good));

it('the limit itself is within', () => {
  expect(isGood(record({ tokenTimesS: [0.25, 0.5] }), { ttft: 250, tpot: 250, e2el: 500 })).toBe(true);
});

describe('an answer of one token (case 58)', () => {
  const one = record({ tokens: 1 });
  it('has no TPOT and is judged by the others', () => {
    expect(isGood(one, { tpot: 1, ttft: 101 })).toBe(true);
    expect(isGood(one, { tpot: 1, ttft: 99 })).toBe(false);
  });
});

it('an ok request of which nothing was timed is not good', () => {
  expect(isGood(record({ tokenTimesS: [], outputTokens: 5 }), { ttft: 1000 })).toBe(false);
});

it('gives requests, tokens and the share of what was asked for', () => {
  const records = [five, record({ tokens: 50, gapS: 0.1 }), record({ tokens: 2 }), failedRecord()];
  expect(goodput(records, { e2el: 1000 }, { asked: 8, durationS: 2 })).toEqual({
    limitsMs: { e2el: 1000 },
    good: 2,
    share: 0.25,
    requestThroughput: 1,
    outputThroughput: 3.5,
  });
});

it('is null where nothing was measured, and 0 where nothing was good', () => {
  expect(goodput([failedRecord()], { ttft: 1 }, { asked: 1, durationS: 1 })).toMatchObject({
    good: 0,
    share: 0,
    requestThroughput: null,
    outputThroughput: null,
  });
  expect(goodput([five], { ttft: 1 }, { asked: 1, durationS: 1 })).toMatchObject({
    requestThroughput: 0,
    outputThroughput: 0,
  });
  expect(goodput([], { ttft: 1 }, { asked: 0, durationS: 0 }).share).toBeNull();
});

it('never falls when a limit is raised', () => {
  const request = fc.record({
    tokens: fc.integer({ min: 1, max: 9 }),
    gapS: fc.double({ min: 0.001, max: 1, noNaN: true }),
  });
  const limit = fc.integer({ min: 1, max: 1000 });
  fc.assert(
    fc.property(fc.array(request), limit, limit, (requests, limitMs, more) => {
      const records = requests.map((r) => record(r));
      const good = (ms: number) => goodput(records, { tpot: ms, e2el: 2 * ms }, { asked: 9, durationS: 1 }).good;
      expect(good(limitMs + more)).toBeGreaterThanOrEqual(good(limitMs));
    }),
  );
});
