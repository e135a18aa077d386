import { expect, it } from 'vitest';
import { promptsHash } from '../../src/datasets/hash.ts';
import { datasets } from '../../src/datasets/table.ts';
import { type DatasetName, datasetNames } from '../../src/records/dataset-options.ts';
import { type DatasetTraits, datasetContract } from '../contracts/dataset.ts';
import { fixture } from './files.ts';

/** What each dataset needs for the contract, and how it differs. */
const runs: Readonly<Record<DatasetName, readonly [options: Record<string, unknown>, traits?: DatasetTraits]>> = {
  random: [{ random_input_len: 32, random_output_len: 8 }],
  sharegpt: [{}],
  sonnet: [{ dataset_path: fixture('poem.txt'), sonnet_input_len: 120, sonnet_prefix_len: 50 }],
  custom: [{ dataset_path: fixture('custom.jsonl') }, { distinct: 12 }],
  prefix_repetition: [
    { prefix_repetition_prefix_len: 12, prefix_repetition_suffix_len: 9, prefix_repetition_num_prefixes: 1 },
  ],
  burstgpt: [{ dataset_path: fixture('burst.csv') }],
  hf: [{ dataset_path: fixture('questions.jsonl') }, { distinct: 9 }],
  timed_trace: [{ dataset_path: fixture('trace.jsonl') }, { distinct: 8, ends: true }],
};

for (const dataset of datasets) datasetContract(dataset, ...runs[dataset.name]);

it('every name has a dataset, in the same order', () => {
  expect(datasets.map(({ name }) => name)).toEqual(datasetNames);
});

it('hashes prompts with a NUL between two', () => {
  const hash = (...prompts: string[]) => promptsHash(prompts.map((prompt) => ({ prompt })));
  // printf 'ab' | sha256sum; printf 'a\0é' | sha256sum
  expect(hash('ab')).toBe('fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603');
  expect(hash('a', 'é')).toBe('e7308e4f6aa65075aa49a043ed17c0d14b719ea2a57c53b590cdb602808f2e03');
  expect(hash('a', 'b')).not.toBe(hash('ab'));
});
