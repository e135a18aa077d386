import { describe, expect, it } from 'vitest';
import { type BurstBounds, burstShape } from '../../src/study/stress.ts';

const longest = { promptTokens: 2000, outputTokens: 100 };
const bounds: BurstBounds = { together: 256, mostTokens: 1_300_000, connections: 10_000 };

describe('the stress burst', () => {
  it('is the whole batch at the whole length where that is not too much', () => {
    expect(burstShape(longest, bounds)).toEqual({ requests: 256, ...longest });
  });

  it('has shorter answers first, and then fewer requests', () => {
    expect(burstShape({ promptTokens: 100, outputTokens: 8000 }, { ...bounds, mostTokens: 256 * 1000 })).toEqual({
      requests: 256,
      promptTokens: 100,
      outputTokens: 900,
    });
    // A batch as SGLang tells it, far more than its cache holds at that length.
    expect(burstShape(longest, { ...bounds, together: 4096 })).toEqual({
      requests: Math.floor(1_300_000 / 2064),
      promptTokens: 2000,
      outputTokens: 64,
    });
  });

  it.each([
    [1, 2000, 5000],
    [16, 30, 8],
    [1000, 2, 1],
    [7, 4000, 0],
    [300, 10_000, 3],
  ])('stays within its tokens: %i requests of %i + %i', (together, promptTokens, outputTokens) => {
    for (const mostTokens of [1, 100, 5000, 1_000_000]) {
      const shape = burstShape({ promptTokens, outputTokens }, { together, mostTokens, connections: 500 });
      expect(shape.requests).toBeGreaterThan(0);
      expect(shape.requests).toBeLessThanOrEqual(Math.min(together, 500));
      expect(shape.promptTokens).toBe(promptTokens);
      expect(shape.outputTokens).toBeLessThanOrEqual(outputTokens);
      const tokens = shape.requests * (shape.promptTokens + shape.outputTokens);
      expect(shape.requests === 1 || tokens <= mostTokens).toBe(true);
    }
  });
});
