import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type WorkloadOptions, workloadOptions } from '../../src/records/workload.ts';
import { PromptPool, warmupsOf } from '../../src/study/prompts.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';

const dir = mkdtempSync(join(tmpdir(), 'servetune-prompts-'));
const making = { tokenizer: await bundledTokenizer(), signal: AbortSignal.timeout(60_000) };
const workload = (more: Partial<WorkloadOptions> = {}): WorkloadOptions =>
  workloadOptions.parse({ random_input_len: 12, random_output_len: 4, num_prompts: 5, seed: 3, ...more });
const pool = (more: Partial<WorkloadOptions> = {}): PromptPool => new PromptPool(workload(more), dir);

/** A file of `count` prompts that are easy to tell apart. */
function file(count: number): Partial<WorkloadOptions> {
  const path = join(dir, `${count}.jsonl`);
  writeFileSync(path, Array.from({ length: count }, (_, i) => `${JSON.stringify({ prompt: `row ${i} the the the` })}\n`).join('')); // biome-ignore format: one line
  return { dataset_name: 'custom', dataset_path: path, custom_output_len: 4, skip_chat_template: true };
}

describe('a pool', () => {
  it('begins with the prompts of the workload however many are wanted, each with its number', async () => {
    const short = [...(await pool().atLeast(1, making))];
    const long = await pool().atLeast(12, making);
    expect(short).toHaveLength(5);
    expect(long.slice(0, 5)).toEqual(short);
    expect(long.length).toBeGreaterThanOrEqual(12);
    expect(long.map(({ index }) => index)).toEqual([...long.keys()]);
    expect(new Set(long.map(({ prompt }) => prompt)).size).toBe(long.length);
  });

  it('has the prompts of the next seed behind them', async () => {
    const long = await pool().atLeast(10, making);
    const next = await pool({ seed: 4 }).atLeast(1, making);
    expect(long.slice(5, 10).map(({ prompt }) => prompt)).toEqual(next.map(({ prompt }) => prompt));
  });

  it('has fewer where the file has no more and may not repeat', async () => {
    const rows = await pool({ ...file(3), no_oversample: true }).atLeast(10, making);
    expect(rows.map(({ prompt }) => prompt).sort()).toEqual([0, 1, 2].map((i) => `row ${i} the the the`));
  });

  it('repeats rows otherwise, and says so', async () => {
    const repeating = pool(file(3));
    expect(await repeating.atLeast(5, making)).toHaveLength(5);
    expect(repeating.notes.join(' ')).toMatch(/3 .*5|5 .*3/);
  });
});

describe('warm-up prompts', () => {
  const texts = (requests: readonly { prompt: string }[]): Set<string> => new Set(requests.map(({ prompt }) => prompt));

  it.each([
    ['random', {}],
    ['a file', file(8)],
    ['a prefix', { dataset_name: 'prefix_repetition', prefix_repetition_num_prefixes: 1 } as const],
  ])('are none of those that are measured (%s), and are as many as wanted', async (_, more) => {
    const one = pool(more);
    const measured = texts(await one.atLeast(10, making));
    for (const count of [3, 7, 2]) {
      const warmups = await one.warmups(count, making);
      expect(warmups).toHaveLength(count);
      for (const { prompt } of warmups) expect(measured.has(prompt)).toBe(false);
    }
  });

  it('are about as long as the rows of the file', async () => {
    const one = pool(file(8));
    const measured = await one.atLeast(5, making);
    const mean = (lengths: readonly number[]): number => lengths.reduce((a, b) => a + b, 0) / lengths.length;
    const warmups = await one.warmups(40, making);
    const [want, got] = [measured, warmups].map((list) => mean(list.map(({ promptTokens }) => promptTokens)));
    expect(Math.abs((got ?? 0) - (want ?? 0))).toBeLessThan((want ?? 0) * 0.3);
    expect(mean(warmups.map(({ outputTokens }) => outputTokens))).toBeGreaterThan(2);
  });

  it('come from the file itself where there is no tokenizer', async () => {
    const one = pool(file(8));
    const warmups = await one.warmups(3, { ...making, tokenizer: null });
    expect(warmups.map(({ prompt }) => prompt)).toEqual(Array(3).fill(expect.stringMatching(/^row \d/)));
  });

  it('are one wave', () => {
    expect(warmupsOf({ num_prompts: 5, max_concurrency: 3 })).toBe(3);
    expect(warmupsOf({ num_prompts: 5, max_concurrency: 30 })).toBe(5);
    expect(warmupsOf({ num_prompts: 5 })).toBe(5);
  });
});
