import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Dataset, Making } from '../../src/datasets/dataset.ts';
import { promptsHash } from '../../src/datasets/hash.ts';
import { InputError } from '../../src/kit/errors.ts';
import { workloadOptions } from '../../src/records/workload.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import type { Tokenizer } from '../../src/tokenizers/tokenizer.ts';

/** How a dataset differs from one that draws any number of new prompts from its seed. */
export interface DatasetTraits {
  /** Different prompts that these options can give; beyond it they repeat, or (with `ends`) there are no more. */
  readonly distinct?: number;
  /** It does not repeat rows to reach the count. */
  readonly ends?: boolean;
  /** The seed changes nothing. */
  readonly seedless?: boolean;
}

/** A place to make prompts at, without progress, a signal that never aborts, or anything that was fetched. */
export const making = (tokenizer: Tokenizer | null, changes: Partial<Making> = {}): Making => ({
  tokenizer,
  signal: new AbortController().signal,
  serverTemplates: true,
  cacheDir: join(tmpdir(), 'servetune-nothing-fetched'),
  ...changes,
});

/** What holds for every dataset. `options` are those that it needs; lengths are for it to keep where it can. */
export function datasetContract(dataset: Dataset, options: Record<string, unknown>, traits: DatasetTraits = {}): void {
  const { distinct = Number.POSITIVE_INFINITY, ends = false, seedless = false } = traits;

  describe(`dataset ${dataset.name}`, async () => {
    const tokenizer = await bundledTokenizer();
    const parsed = (changes: Record<string, unknown> = {}) =>
      workloadOptions.parse({ seed: 42, ...options, ...changes, dataset_name: dataset.name });
    const make = (count: number, seed = 42, changes: Partial<Making> = {}) =>
      dataset.make(parsed({ seed }), count, making(tokenizer, changes));

    it('is a name that a workload may have, with a line for --help', () => {
      expect(parsed().dataset_name).toBe(dataset.name);
      expect(dataset.description).toMatch(/^\S.*[^.]$/);
    });

    it.each([1, 7, 300])('makes %i requests, numbered from 0', async (count) => {
      const { requests } = await make(count);
      const length = ends ? Math.min(count, distinct) : count;
      expect(requests.map(({ index }) => index)).toEqual(Array.from({ length }, (_, i) => i));
    });

    it('counts the tokens of each prompt as the tokenizer does', async () => {
      const { requests } = await make(50);
      const ids = await tokenizer.encode(requests.map(({ prompt }) => prompt));
      expect(requests.map(({ promptTokens }) => promptTokens)).toEqual(ids.map((list) => list.length));
      expect(requests.every(({ promptTokens, outputTokens }) => promptTokens > 0 && outputTokens > 0)).toBe(true);
    });

    it('makes the same requests again from the same seed, and others from another', async () => {
      expect(await make(50)).toEqual(await make(50));
      if (!seedless)
        expect(promptsHash((await make(50, 1)).requests)).not.toBe(promptsHash((await make(50, 2)).requests));
    });

    it('sends no prompt twice before it has sent all', async () => {
      const count = Math.min(300, distinct);
      const { requests } = await make(count);
      expect(new Set(requests.map(({ prompt }) => prompt)).size).toBe(count);
    });

    it('notes whole sentences, each once', async () => {
      const { notes } = await make(300);
      for (const note of notes) expect(note).toMatch(/^\S.*[.]$/s);
      expect(new Set(notes).size).toBe(notes.length);
    });

    it('tells how far it is, in ascending order', async () => {
      const told: [number, number][] = [];
      await make(50, 42, { onProgress: (done, total) => told.push([done, total]) });
      for (const [i, [done, total]] of told.entries()) {
        expect(done).toBeGreaterThanOrEqual(told[i - 1]?.[0] ?? 0);
        expect(done).toBeLessThanOrEqual(total);
      }
    });

    it('does without a tokenizer, with lengths of 0, or says that it needs one', async () => {
      const made = await dataset.make(parsed(), 3, making(null)).catch((error: unknown) => error);
      if (made instanceof InputError) {
        expect(made.problems.length).toBeGreaterThan(0);
        for (const { place, message, hint } of made.problems) expect([place, message, hint]).not.toContain(undefined);
      } else {
        expect(made).toMatchObject({ requests: [{ promptTokens: 0 }, {}, {}] });
      }
    });

    it('stops when it is told to', async () => {
      const made = make(300, 42, { signal: AbortSignal.abort(new Error('enough')) });
      await expect(made).rejects.toThrow('enough');
    });
  });
}
