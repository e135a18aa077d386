import { describe, expect, it } from 'vitest';
import { answerTtft } from '../../src/metrics/answer-ttft.ts';
import { e2el } from '../../src/metrics/e2el.ts';
import { firstEvent } from '../../src/metrics/first-event.ts';
import { itl } from '../../src/metrics/itl.ts';
import { streamEnd } from '../../src/metrics/stream-end.ts';
import { metrics } from '../../src/metrics/table.ts';
import { tpot } from '../../src/metrics/tpot.ts';
import { ttft } from '../../src/metrics/ttft.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import { failedRecord, record } from './request-record.ts';

const of = (metric: (typeof metrics)[number], r: RequestRecord): number[] =>
  metric.of(r).map((s) => Math.round(s * 1e9) / 1e6);

describe('a role chunk at 5 ms, tokens at 200 and 220 ms', () => {
  const r = record({ sendS: 1, firstEventS: 1.005, tokenTimesS: [1.2, 1.22], endS: 2.22 });
  it('TTFT is the first token, not the first event', () => {
    expect(of(ttft, r)).toEqual([200]);
    expect(of(firstEvent, r)).toEqual([5]);
  });
  it('E2EL ends with the last token, not with the stream', () => expect(of(e2el, r)).toEqual([220]));
  it('the end of the stream is a metric of its own', () => expect(of(streamEnd, r)).toEqual([1220]));
  it('has one gap', () => expect(of(itl, r)).toEqual([20]));
});

it('times reasoning and answer apart', () => {
  const r = record({ tokenTimesS: [0.1, 0.2, 0.3, 0.4], firstTokenS: 0.1, firstAnswerTokenS: 0.3 });
  expect([of(ttft, r), of(answerTtft, r)]).toEqual([[100], [300]]);
});

it('has no answer TTFT when the answer never began', () => {
  const { firstAnswerTokenS: _, ...r } = record();
  expect(of(answerTtft, r)).toEqual([]);
  expect(of(ttft, r)).toEqual([100]);
});

it('ten events, 9 ms apart, of three tokens each (case 12)', () => {
  const r = record({ tokens: 10, gapS: 0.009, outputTokens: 30 });
  expect(of(tpot, r)[0]).toBeCloseTo(81 / 29, 5);
  expect(of(itl, r)).toEqual(new Array(9).fill(9));
});

it.each([
  ['one token', record({ tokens: 1 })],
  ['one token by usage in two events', record({ tokens: 2, outputTokens: 1 })],
  ['thirty tokens in one event', record({ tokens: 1, outputTokens: 30 })],
])('%s has no TPOT', (_, r) => expect(tpot.of(r)).toEqual([]));

it('a request without any token has no sample at all', () => {
  expect(metrics.flatMap((metric) => metric.of(failedRecord()))).toEqual([]);
});

it('names are distinct', () => {
  expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
});

it('an answer that came whole does not show when its first token was there', () => {
  const r = record({ tokens: 1, outputTokens: 30 });
  expect([ttft, tpot, itl, answerTtft].map((metric) => of(metric, r))).toEqual([[], [], [], []]);
  expect(of(e2el, r)).toEqual([100]);
  expect(of(ttft, record({ tokens: 1 }))).toEqual([100]);
});
