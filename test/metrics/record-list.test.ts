import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { failureHints } from '../../src/load/hints.ts';
import { RecordLog } from '../../src/load/record-log.ts';
import { type SummaryOptions, summarize } from '../../src/metrics/summary.ts';
import { outcomes, type RecordList, type RequestRecord } from '../../src/records/request.ts';
import { record } from './request-record.ts';

const us = (max: number) => fc.nat(max);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const request = fc.record({
  outcome: fc.oneof({ weight: 4, arbitrary: fc.constant('ok' as const) }, fc.constantFrom(...outcomes)),
  sendUs: us(3_000_000),
  firstUs: us(200_000),
  gapsUs: fc.array(fc.oneof(us(20), us(100_000)), { maxLength: 8 }),
  tokensPerEvent: fc.nat(3),
  changes: fc.record(
    {
      outputTokensBy: fc.constantFrom('server', 'tokenizer', 'chunks'),
      serverPromptTokens: fc.nat(100),
      cachedTokens: fc.nat(64),
      httpStatus: fc.constantFrom(200, 400, 503),
      error: fc.constantFrom('ECONNREFUSED', 'too long'),
      malformedEvents: fc.nat(2),
      malformedText: fc.constantFrom('x', 'y'),
      tokenCounts: fc.array(fc.nat(3), { maxLength: 9 }),
    },
    { requiredKeys: [] },
  ),
});

const recordOf = (of: typeof request extends fc.Arbitrary<infer T> ? T : never, index: number): RequestRecord => {
  let atUs = of.sendUs + of.firstUs;
  const timesUs = of.gapsUs.map((gapUs) => (atUs += gapUs));
  return record({
    index,
    outcome: of.outcome,
    sendS: of.sendUs / 1e6,
    tokenTimesS: timesUs.map((timeUs) => timeUs / 1e6),
    endS: (atUs + 5) / 1e6,
    outputTokens: timesUs.length * of.tokensPerEvent,
    ...of.changes,
  });
};

const loads = fc.array(request, { maxLength: 40 }).map((requests) => requests.map(recordOf));
/** Two at a time, so that there is a plateau. */
const settled = fc.array(request, { minLength: 20, maxLength: 60 }).map((requests) =>
  requests.map((one, i) => recordOf({ ...one, sendUs: 300_000 * (i >> 1) }, i)),
); // biome-ignore format: one chain

const options: fc.Arbitrary<Partial<SummaryOptions>> = fc.record({
  requestRate: maybe(fc.constantFrom(5, 20, Number.POSITIVE_INFINITY)),
  maxConcurrency: maybe(fc.constantFrom(2, 100)),
  generates: maybe(fc.boolean()),
  sendTimesKnown: maybe(fc.boolean()),
  goodput: maybe(fc.constantFrom({}, { ttft: 100 }, { tpot: 5, e2el: 300 })),
});

it('shows the same of a packed log as of an array', () => {
  fc.assert(
    fc.property(fc.oneof(loads, settled), options, (records, more) => {
      const log = new RecordLog();
      for (const one of records) log.add(one);
      const all = { asked: 30, percentiles: [50, 99.9], ...more };
      expect(summarize(log, all)).toEqual(summarize(records, all));
      expect(failureHints(log)).toEqual(failureHints(records));
    }),
  );
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What is still needed: without the garbage, whose amount is chance. */
function memoryInUse(): NodeJS.MemoryUsage {
  collectGarbage();
  return process.memoryUsage();
}

it('never holds the records of a large load', () => {
  const count = 200_000;
  const used = { heap: 0, samples: 0 };
  let passes = 0;
  const made: RecordList = {
    length: count,
    *[Symbol.iterator]() {
      passes++;
      for (let index = 0; index < count; index++) {
        yield record({ index, sendS: index / 1000, tokens: 16, gapS: 0.02 + (index % 100) * 1e-5 });
        if (index % 20_000 > 0) continue;
        const { heapUsed, arrayBuffers } = memoryInUse();
        used.heap = Math.max(used.heap, heapUsed);
        used.samples = Math.max(used.samples, arrayBuffers);
      }
    },
  };
  const before = memoryInUse();
  const summary = summarize(made, { asked: count, percentiles: [50, 99], requestRate: 1000, goodput: { ttft: 200 } });
  expect(summary).toMatchObject({ ok: count, outputTokens: 16 * count, goodput: { good: count } });
  expect(summary.latencies.itl?.n).toBe(15 * count);
  expect(summary.steady?.completed).toBeGreaterThan(count / 2);
  expect(passes).toBe(2);
  // As objects they take 100 MB.
  expect(used.heap - before.heapUsed).toBeLessThan(20e6);
  expect(used.samples - before.arrayBuffers).toBeLessThan(8 * count * 8 + 40e6);
});
