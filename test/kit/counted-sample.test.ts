import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CountedSample } from '../../src/kit/counted-sample.ts';
import { ascending, mean, median, percentile, populationSd } from '../../src/kit/numbers.ts';

const percentiles = [0, 1, 25, 90, 99, 99.9, 100];

it('comes to what the same durations come to one by one', () => {
  const lengths = fc.array(fc.oneof(fc.nat(50), fc.nat(30_000), fc.integer({ min: 4_000_000, max: 9_000_000 })));
  fc.assert(
    fc.property(lengths, (microseconds) => {
      const sample = new CountedSample();
      // As they come from differences of times: right to the microsecond, wrong behind it.
      for (const length of microseconds) sample.add(1000 + length / 1e6 - 1000);
      const sorted = ascending(microseconds.map((length) => length / 1e6));
      const reduced = sample.reduce(percentiles);
      expect(reduced).toMatchObject({
        n: sorted.length,
        median: median(sorted),
        min: sorted[0] ?? null,
        max: sorted.at(-1) ?? null,
        percentiles: Object.fromEntries(percentiles.map((p) => [String(p), percentile(sorted, p)])),
      });
      const [m, sd] = [mean(sorted), populationSd(sorted)];
      if (m === null || sd === null) expect([reduced.mean, reduced.sd]).toEqual([null, null]);
      else {
        expect(reduced.mean).toBeCloseTo(m, 9);
        expect(reduced.sd).toBeCloseTo(sd, 9);
      }
    }),
  );
});

it('takes a step backwards for no time', () => {
  const sample = new CountedSample();
  sample.add(-0.5);
  expect(sample.reduce([50])).toMatchObject({ n: 1, mean: 0, max: 0 });
});
