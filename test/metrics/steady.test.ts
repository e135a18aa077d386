import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concurrencySteps, flightsOf, meanConcurrency } from '../../src/metrics/concurrency.ts';
import { type SteadyOptions, steadyWindow } from '../../src/metrics/steady.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import type { SteadyWindow } from '../../src/records/summary.ts';
import { closedLoop, embedding, failedRecord, record } from './request-record.ts';

const of = (records: readonly RequestRecord[], options: Partial<SteadyOptions> = {}) =>
  steadyWindow(records, { percentiles: [50], generates: true, ...options });
const windowOf = (...given: Parameters<typeof of>): SteadyWindow => of(...given).window as SteadyWindow;
const reasonOf = (...given: Parameters<typeof of>): string => {
  const steady = of(...given);
  return steady.window === null ? steady.reason : '';
};

describe('a closed loop of 10 places', () => {
  // 101 tokens, one every 20 ms from 100 ms on: 2.1 s, and 5 ms until the stream ends.
  const load = closedLoop(10, 8, { tokens: 101 });
  const steady = windowOf(load, { maxConcurrency: 10 });

  it('leaves out how it fills and how it empties', () => {
    expect(steady.startS).toBeCloseTo(8 * 0.2105, 6);
    // The last but one of the ten ends.
    expect(steady.endS).toBeCloseTo(7 * 2.105 + 0.2105 + 2.105, 4);
  });
  it('has the throughput of full places', () => {
    expect(steady.meanConcurrency).toBeGreaterThan(9.8);
    expect(steady.requestThroughput).toBeCloseTo(10 / 2.105, 0);
    expect(steady.outputThroughput).toBeCloseTo((10 * 101) / 2.105, -1);
    const whole = (load.length * 101) / Math.max(...load.map(({ endS }) => endS));
    expect(steady.outputThroughput).toBeGreaterThan(whole);
  });
  it('has the latencies of requests that lie in it whole', () => {
    const inside = load.filter(({ sendS, endS }) => sendS >= steady.startS && endS <= steady.endS);
    expect(Object.keys(steady.latencies)).toEqual(['ttft', 'tpot']);
    expect(steady.latencies.ttft).toMatchObject({ n: inside.length, percentiles: { 50: expect.closeTo(0.1, 9) } });
    expect(steady.completed).toBeGreaterThan(inside.length);
  });
  it('counts tokens, not events', () => {
    const triple = load.map((r) => ({ ...r, outputTokens: 3 * r.outputTokens }));
    expect(windowOf(triple).outputTokens).toBeCloseTo(3 * steady.outputTokens, 3);
  });
});

describe('there is none', () => {
  it.each<[string, RequestRecord[], RegExp]>([
    ['when nothing was sent', [], /no request/],
    ['when nothing succeeded', [failedRecord()], /no request/],
    ['when everything came at once', Array.from({ length: 20 }, (_, i) => record({ tokens: 10 + 10 * i })), /only \d+ requests ended/],
    ['when the places were filled once', closedLoop(10, 1, { tokens: 101 }), /only \d+ requests ended .*, 10\./],
    ['when it lasted less than two requests', closedLoop(2, 2, { tokens: 101 }), /less than twice the mean E2EL of 2\.10 s/],
  ])('%s', (_, records, reason) => expect(reasonOf(records)).toMatch(reason)); // biome-ignore format: one case a line
});

describe('a load with a rate', () => {
  const arriving = (count: number, gapS: number, changes: (i: number) => object = () => ({})) =>
    Array.from({ length: count }, (_, i) => record({ index: i, sendS: i * gapS, tokens: 51, ...changes(i) }));

  it('is steady from one E2EL after the first request until the last is sent', () => {
    const steady = windowOf(arriving(100, 0.1), { requestRate: 10 });
    expect(steady.startS).toBeCloseTo(1.1, 6);
    expect(steady.endS).toBeCloseTo(9.9, 6);
    expect(steady.requestThroughput).toBeCloseTo(10, 0);
    expect(steady.meanConcurrency).toBeCloseTo(11, 0);
  });
  it('is not when the queue goes on growing', () => {
    const slower = arriving(100, 0.1, (i) => ({ gapS: 0.001 + i * 0.001 }));
    expect(reasonOf(slower, { requestRate: 10 })).toMatch(/went on growing/);
  });
  it('counts as a closed loop once the limit was reached', () => {
    const load = closedLoop(10, 8, { tokens: 101 });
    expect(windowOf(load, { requestRate: 100, maxConcurrency: 10 })).toEqual(windowOf(load));
  });
});

it('has no output tokens where nothing is generated', () => {
  const load = Array.from({ length: 40 }, (_, i) => embedding({ index: i, sendS: Math.floor(i / 2) * 0.2 }));
  expect(windowOf(load, { generates: false })).toMatchObject({ outputTokens: 0, outputThroughput: null });
});

const span = fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 1, max: 10 }));

it('steps: as many as counting gives, and averaged they are the time spent', () => {
  fc.assert(
    fc.property(fc.array(span, { minLength: 1, maxLength: 20 }), (spans) => {
      const records = spans.map(([sendS, length]) => failedRecord({ sendS, endS: sendS + length }));
      const steps = [...concurrencySteps(flightsOf(records))];
      expect(steps.at(-1)?.inFlight).toBe(0);
      let area = 0;
      for (const [i, { atS, inFlight }] of steps.entries()) {
        expect(inFlight).toBe(records.filter(({ sendS, endS }) => sendS <= atS && atS < endS).length);
        area += inFlight * ((steps[i + 1]?.atS ?? atS) - atS);
      }
      expect(meanConcurrency(records, 0, 50)).toBeCloseTo(area / 50, 9);
    }),
  );
});

it('lies within the load, and its concurrency within the peak', () => {
  const load = fc.record({
    concurrency: fc.integer({ min: 1, max: 8 }),
    each: fc.integer({ min: 1, max: 8 }),
    tokens: fc.integer({ min: 1, max: 40 }),
  });
  fc.assert(
    fc.property(load, ({ concurrency, each, tokens }) => {
      const records = closedLoop(concurrency, each, { tokens });
      const steady = of(records);
      if (steady.window === null) {
        expect(steady.reason).toMatch(/\.$/);
        return;
      }
      const { startS, endS, completed, outputTokens, meanConcurrency: mean } = steady.window;
      expect(startS).toBeGreaterThanOrEqual(0);
      expect(endS).toBeLessThanOrEqual(Math.max(...records.map((r) => r.endS)));
      expect(mean).toBeLessThanOrEqual(concurrency + 1e-9);
      expect(completed).toBeLessThanOrEqual(records.length);
      expect(outputTokens).toBeLessThanOrEqual(records.length * tokens);
    }),
  );
});
