import { describe, expect, it } from 'vitest';
import type { Dataset } from '../../src/datasets/dataset.ts';
import { promptsHash } from '../../src/datasets/hash.ts';
import { workloadOptions } from '../../src/records/workload.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';

/** What holds for every dataset. `options` are those that it needs; lengths are for it to keep where it can. */
export function datasetContract(dataset: Dataset, options: Record<string, unknown>): void {
  describe(`dataset ${dataset.name}`, async () => {
    const tokenizer = await bundledTokenizer();
    const make = (count: number, seed = 42) =>
      dataset.make(workloadOptions.parse({ ...options, dataset_name: dataset.name, seed }), count, tokenizer);

    it('is a name that a workload may have, with a line for --help', () => {
      expect(workloadOptions.parse({ dataset_name: dataset.name }).dataset_name).toBe(dataset.name);
      expect(dataset.description).toMatch(/^\S.*[^.]$/);
    });

    it.each([1, 7, 300])('makes %i requests, numbered from 0', async (count) => {
      expect((await make(count)).map(({ index }) => index)).toEqual(Array.from({ length: count }, (_, i) => i));
    });

    it('counts the tokens of each prompt as the tokenizer does', async () => {
      const requests = await make(50);
      const ids = await tokenizer.encode(requests.map(({ prompt }) => prompt));
      expect(requests.map(({ promptTokens }) => promptTokens)).toEqual(ids.map((list) => list.length));
      expect(requests.every(({ promptTokens, outputTokens }) => promptTokens > 0 && outputTokens > 0)).toBe(true);
    });

    it('makes the same requests again from the same seed, and others from another', async () => {
      expect(await make(50)).toEqual(await make(50));
      expect(promptsHash(await make(50, 1))).not.toBe(promptsHash(await make(50, 2)));
    });

    it('sends no prompt twice', async () => {
      expect(new Set((await make(300)).map(({ prompt }) => prompt)).size).toBe(300);
    });

    it('stops when it is told to', async () => {
      const made = dataset.make(workloadOptions.parse(options), 300, tokenizer, AbortSignal.abort(new Error('enough')));
      await expect(made).rejects.toThrow('enough');
    });
  });
}
