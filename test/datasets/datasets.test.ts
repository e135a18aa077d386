import { expect, it } from 'vitest';
import { promptsHash } from '../../src/datasets/hash.ts';
import { datasets } from '../../src/datasets/table.ts';
import { datasetContract } from '../contracts/dataset.ts';

for (const dataset of datasets) datasetContract(dataset, { random_input_len: 32, random_output_len: 8 });

it('names are distinct', () => expect(new Set(datasets.map(({ name }) => name)).size).toBe(datasets.length));

it('hashes prompts with a NUL between two', () => {
  const hash = (...prompts: string[]) => promptsHash(prompts.map((prompt) => ({ prompt })));
  // printf 'ab' | sha256sum; printf 'a\0é' | sha256sum
  expect(hash('ab')).toBe('fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603');
  expect(hash('a', 'é')).toBe('e7308e4f6aa65075aa49a043ed17c0d14b719ea2a57c53b590cdb602808f2e03');
  expect(hash('a', 'b')).not.toBe(hash('ab'));
});
