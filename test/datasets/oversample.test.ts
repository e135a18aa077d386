import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { oversampled } from '../../src/datasets/making/oversample.ts';
import { compatModes } from '../../src/records/compat.ts';

const samples = (n: number) =>
  Array.from({ length: n }, (_, i) => ({ prompt: `prompt ${i}`, promptTokens: i + 4, outputTokens: 100 - i }));
const options = (compat: (typeof compatModes)[number], seed = 0, no_oversample = false) => ({
  compat,
  seed,
  no_oversample,
});

const { seeds }: { seeds: Record<string, Record<string, number[]>> } = JSON.parse(
  readFileSync(new URL('../fixtures/datasets/rng-vectors.json', import.meta.url), 'utf8'),
);

describe.each(Object.entries(seeds))('with the seed %s', (seed, vectors) => {
  it.each(compatModes)('repeats what Python picks (%s)', (compat) => {
    const { requests, notes } = oversampled(samples(39), 49, options(compat, Number(seed)));
    const picked = vectors[compat === 'vllm-0.11.0' ? 'py_choices(range(39),k=10)' : 'py_choice(range(39)) x10'];
    expect(requests.slice(0, 39)).toEqual(samples(39).map((sample, index) => ({ ...sample, index })));
    expect(requests.slice(39)).toEqual(picked?.map((i, k) => ({ ...samples(39)[i], index: 39 + k })));
    expect(notes).toEqual([expect.stringMatching(/^10 of 49 prompts are repeats, .* only 39; .*\.$/)]);
  });
});

it('leaves enough as they are, and takes no more than asked for', () => {
  expect(oversampled(samples(5), 3, options('servetune'))).toEqual({
    requests: samples(3).map((sample, index) => ({ ...sample, index })),
    notes: [],
  });
  expect(oversampled(samples(5), 5, options('servetune')).notes).toEqual([]);
});

it('says when rows of the file are alike (case 54)', () => {
  const twice = [...samples(3), ...samples(2)];
  expect(oversampled(twice, 5, options('servetune')).notes).toEqual([
    expect.stringMatching(/^2 of 5 prompts are repeats; .*\.$/),
  ]);
  expect(oversampled(twice, 3, options('servetune')).notes).toEqual([]);
  expect(oversampled(twice, 4, options('servetune')).notes).toEqual([expect.stringMatching(/^1 of 4 prompts is a /)]);
  expect(oversampled(twice, 9, options('servetune', 0, true)).notes).toEqual([
    'The dataset has only 5 of the 9 prompts that were asked for.',
    expect.stringMatching(/^2 of 5 prompts are repeats/),
  ]);
  expect(oversampled(twice, 10, options('servetune')).notes).toEqual([
    expect.stringMatching(/^7 of 10 prompts are repeats, since the dataset has only 5;/),
  ]);
});

it('makes fewer where repeats are not wanted, or where there is nothing to repeat', () => {
  const { requests, notes } = oversampled(samples(5), 8, options('servetune', 0, true));
  expect(requests.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
  expect(notes).toEqual(['The dataset has only 5 of the 8 prompts that were asked for.']);
  expect(oversampled([], 8, options('servetune')).requests).toEqual([]);
});

it('keeps what else a sample has', () => {
  const [first, second] = oversampled(
    [{ ...samples(1)[0], dueS: 2, model: 'm' } as never],
    2,
    options('servetune'),
  ).requests;
  expect([first, second]).toMatchObject([
    { index: 0, dueS: 2, model: 'm' },
    { index: 1, dueS: 2, model: 'm' },
  ]);
});
