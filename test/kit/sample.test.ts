import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Sample } from '../../src/kit/sample.ts';

it('gives back in ascending order what was added, however much was expected', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true }), { maxLength: 60 }), fc.nat(80), fc.nat(60), (values, expected, cut) => {
      const sample = new Sample(expected);
      const add = (some: readonly number[]): void => {
        for (const value of some) sample.add(value);
      };
      add(values.slice(0, cut));
      expect([...sample.ascending()]).toEqual([...Float64Array.from(values.slice(0, cut)).sort()]);
      add(values.slice(cut));
      expect([...sample.ascending()]).toEqual([...Float64Array.from(values).sort()]);
    }),
  );
}); // biome-ignore format: one property
