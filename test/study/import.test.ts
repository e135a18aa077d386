import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importFile } from '../../src/importers/import-file.ts';
import { type ImportedResult, nothingTold } from '../../src/records/imported.ts';
import { judged } from '../../src/study/import.ts';

const fixtures = resolve(import.meta.dirname, '../fixtures/importers');

const result = (
  figures: Partial<ImportedResult['figures']>,
  more: Partial<Pick<ImportedResult, 'workload' | 'latencies'>> = {},
): ImportedResult => ({
  ...nothingTold,
  schema: 1,
  source: { file: 'a', line: 1, column: 1, sha256: '00', format: 'vllm-json', version: 'unknown' },
  latencies: {},
  extra: {},
  remarks: [],
  ...more,
  figures: { ...nothingTold.figures, ...figures },
});
const problemsOf = (...args: Parameters<typeof result>): readonly string[] => judged(result(...args)).problems;

describe('an imported result', () => {
  it('is believed when nothing speaks against it, and changed in nothing', () => {
    for (const name of ['qwen3-14b-h100.ja.txt', 'gpt-oss-20b-h100.md']) {
      for (const read of importFile(resolve(fixtures, name), 'auto'))
        expect(judged(read)).toEqual({ ...read, problems: [] });
    }
    expect(problemsOf({})).toEqual([]);
  });

  it('is invalid when nothing succeeded', () => {
    const none = { completed: 0, durationS: 1.5, requestThroughput: 0, outputThroughput: 0, totalTokenThroughput: 0 };
    expect(problemsOf(none)).toEqual([expect.stringMatching(/Not one request succeeded/)]);
  });

  it.each([
    ['fewer succeeded than were asked for', { completed: 514 }, { workload: { ...nothingTold.workload, numPrompts: 1000 } }, /of 1000 requests/], // biome-ignore format: a row
    ['its totals are not its throughput', { completed: 514, durationS: 12.27, outputTokens: 131_530, outputThroughput: 12_792 }, {}, /131530 over 12.27 s are 10719/], // biome-ignore format: a row
    ['its peak is absurd', { outputThroughput: 5000, peakOutputThroughput: 20_132_659 }, {}, /peak is over 20 times/],
    ['its median is 0', { completed: 10, outputTokens: 1000 }, { latencies: { itl: { mean: 0.1, median: 0, sd: null, percentiles: {} } } }, /median ITL/], // biome-ignore format: a row
  ])('is invalid when %s', (_, figures, more, problem) => {
    expect(problemsOf(figures, more)).toEqual([expect.stringMatching(problem)]);
  });

  it('is not blamed for being printed with two decimals', () => {
    expect(problemsOf({ completed: 100, durationS: 2900.12, requestThroughput: 0.03 })).toEqual([]);
    expect(problemsOf({ completed: 7, durationS: 0.4, requestThroughput: 17.3 })).toEqual([]);
    expect(problemsOf({ completed: 100, durationS: 2900.12, requestThroughput: 0.05 })).toHaveLength(1);
    expect(problemsOf({ completed: 100, durationS: 2900.1234, requestThroughput: 0.0301 })).toHaveLength(1);
  });

  it('is judged by what a real borrowed layout shows: a peak far over its mean', () => {
    const text = readFileSync(resolve(fixtures, 'glm-5.2-h200.txt'), 'utf8');
    expect(text).toContain('21900.04');
    const [read] = importFile(resolve(fixtures, 'glm-5.2-h200.txt'), 'auto').map(judged);
    expect(read?.problems).toEqual([expect.stringMatching(/peak output 21900.04 tok\/s, mean 608.31 tok\/s/)]);
  });
});
