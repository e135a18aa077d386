import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
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

  /** A result file of vLLM with some of its keys changed, as it would be imported. */
  const imported = (changes: Record<string, unknown>) => {
    const file = JSON.parse(readFileSync(resolve(fixtures, 'vllm-2026-08.json'), 'utf8'));
    const path = join(mkdtempSync(join(tmpdir(), 'servetune-import-')), 'r.json');
    writeFileSync(path, JSON.stringify({ ...file, ...changes }));
    return importFile(path, 'auto').map(judged);
  };

  it('is imported and invalid where a file says that nothing was completed (case 57)', () => {
    const zeros = Object.fromEntries(
      Object.entries(JSON.parse(readFileSync(resolve(fixtures, 'vllm-2026-08.json'), 'utf8')))
        .filter(([key, value]) => typeof value === 'number' && /_ms$|throughput|total_|goodput|max_/.test(key))
        .map(([key]) => [key, 0]),
    );
    for (const duration of [1.5, 0]) {
      const [read, ...more] = imported({ ...zeros, completed: 0, failed: 7, num_prompts: 7, duration });
      expect(more).toEqual([]);
      expect(read?.figures).toMatchObject({ completed: 0, failed: 7, durationS: duration, requestThroughput: 0 });
      expect(read?.problems).toEqual([expect.stringMatching(/^Not one of 7 requests succeeded/)]);
      expect(JSON.stringify(read)).not.toMatch(/NaN|Infinity/);
    }
    const [untold] = imported({ completed: 0, failed: undefined, num_prompts: undefined });
    expect(untold?.problems).toEqual([expect.stringMatching(/^Not one request succeeded/)]);
  });

  it('is rejected for everything at once that a published file had (case 63)', () => {
    const [read] = imported({
      num_prompts: 1000, completed: 514, failed: 0, duration: 12.27, total_input_tokens: 65_400, total_output_tokens: 66_130,
      request_throughput: 514 / 12.27, output_throughput: 66_130 / 12.27, total_token_throughput: 12_792,
      max_output_tokens_per_s: 20_132_659, median_ttft_ms: 0, median_itl_ms: 0, median_tpot_ms: 0.21, p95_ttft_ms: 'N/A',
    }); // biome-ignore format: one file
    expect(read?.latencies.ttft?.percentiles['95']).toBeNull();
    expect(read?.problems).toEqual([
      expect.stringMatching(/^486 of 1000 requests neither succeeded nor are counted as failed/),
      expect.stringMatching(/^The total token throughput is 12792\.00\/s, but 131530 over 12\.27 s are 10719\.64/),
      expect.stringMatching(/^The peak is over 20 times the mean/),
      expect.stringMatching(/^The median TTFT is 0\.00 ms/),
      expect.stringMatching(/^The median ITL is 0\.00 ms/),
    ]);
  });

  it('with failures is never believed, however fast it was (case 63)', () => {
    const [read] = imported({ completed: 999, failed: 1, num_prompts: 1000, request_throughput: 1e9 });
    expect(read?.problems[0]).toMatch(/^1 of 1000 requests failed/);
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
