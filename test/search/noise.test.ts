import { describe, expect, it } from 'vitest';
import { studentQuantile, studentTwoSided } from '../../src/kit/student-t.ts';
import { compareScores, estimateNoise } from '../../src/search/noise.ts';

describe("Student's t", () => {
  // Two-sided 5 % and 1 % points from the tables in every statistics book.
  it.each([
    [0.05, 1, 12.7062],
    [0.05, 4, 2.7764],
    [0.05, 10, 2.2281],
    [0.05, 120, 1.9799],
    [0.01, 4, 4.6041],
  ])('has its %d point at %d degrees of freedom', (alpha, df, t) => {
    expect(studentQuantile(alpha, df)).toBeCloseTo(t, 3);
    expect(studentTwoSided(t, df)).toBeCloseTo(alpha, 4);
  });
});

describe('noise', () => {
  it('is the prior where nothing was repeated', () => {
    expect(estimateNoise([[1], [2], []])).toEqual({ sd: 0.04, degreesOfFreedom: 4, repeats: 0 });
  });

  it('moves to what the repeats show', () => {
    const quiet = Array.from({ length: 50 }, () => [0, 0.002]);
    expect(estimateNoise(quiet).sd).toBeLessThan(0.012);
    const loud = Array.from({ length: 50 }, () => [0, 0.4]);
    expect(estimateNoise(loud).sd).toBeGreaterThan(0.25);
  });

  it('calls a tenth of the noise no difference, and ten times the noise one', () => {
    const noise = estimateNoise([[0, 0.02, 0.01]]);
    expect(compareScores([0.004], [0], noise).significant).toBe(false);
    const large = compareScores([0.4, 0.41], [0, 0.01], noise);
    expect(large.significant).toBe(true);
    expect(large.low).toBeGreaterThan(1);
    expect(large.ratio).toBeCloseTo(Math.exp(0.4), 10);
  });
});
