import { InputError } from '../kit/errors.ts';
import { createRandom } from '../kit/random.ts';
import type { RequestSpec } from '../records/request.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { Dataset } from './dataset.ts';
import { draftOf, settleLengths } from './exact-length.ts';

/**
 * Vocabularies with fewer entries get each id drawn. Runs of consecutive ids begin at as many places as there are ids,
 * so a small vocabulary would give the same prompts over and over, and a prefix cache would answer them.
 */
const fewIds = 16_384;

/** Prompts that are worked on together: many enough to keep a tokenizer behind a network busy. */
const batch = 256;

/**
 * Prompts of consecutive token ids from a random place in the vocabulary, repaired until they have exactly the length
 * asked for. The same seed and tokenizer give byte for byte the prompts of `vllm bench serve --dataset-name random`
 * as it is since February 2026: draws from numpy's `default_rng(seed)` in the order input lengths, output lengths,
 * offsets, shared prefix. (The exception is a vocabulary too small for that, see `fewIds`.)
 */
export const random: Dataset = {
  name: 'random',
  description: 'random token ids of an exact length',

  async make(options, count, tokenizer, signal) {
    const { random_output_len: outputLen, random_range_ratio: ratio, random_prefix_len: prefixLen } = options;
    const input = inputRange(options, tokenizer);
    const output = { low: Math.max(1, Math.floor(outputLen * (1 - ratio))), high: Math.ceil(outputLen * (1 + ratio)) };

    const generator = createRandom(options.seed);
    const inputLens = generator.integers(input.low, input.high + 1, count);
    const outputLens = generator.integers(output.low, Math.max(1, output.high) + 1, count);
    const offsets = generator.integers(0, tokenizer.vocabSize, count);

    const usable = usableIds(tokenizer);
    const idAt = (i: number): number => usable[i % usable.length] as number;

    let prefix: readonly number[] = [];
    if (prefixLen > 0) {
      const draft = draftOf(generator.integers(0, usable.length, prefixLen).map(idAt), prefixLen);
      await settleLengths([draft], tokenizer, generator, signal);
      prefix = draft.ids;
    }

    const requests: RequestSpec[] = [];
    while (requests.length < count) {
      const from = requests.length;
      const drafts = inputLens.slice(from, from + batch).map((length, k) => {
        const start = (offsets[from + k] as number) + from + k;
        const inner =
          usable.length < fewIds
            ? generator.integers(0, usable.length, length).map(idAt)
            : Array.from({ length }, (_, j) => idAt(start + j));
        return draftOf([...prefix, ...inner], prefixLen + length);
      });
      await settleLengths(drafts, tokenizer, generator, signal);
      for (const { text, ids } of drafts) {
        const index = requests.length;
        const outputTokens = outputLens[index] as number;
        requests.push({ index, prompt: text, promptTokens: ids.length, outputTokens });
      }
    }
    return requests;
  },
};

/** Shortest and longest prompt without the prefix. The tokenizer's own special tokens are part of the length asked for. */
function inputRange(options: WorkloadOptions, { specialTokenCount }: Tokenizer): { low: number; high: number } {
  const { random_input_len: asked, random_range_ratio: ratio, random_prefix_len: prefixLen } = options;
  const lowest = (length: number): number => Math.floor(Math.max(0, length - specialTokenCount) * (1 - ratio));
  if (lowest(asked) + prefixLen < 1) {
    let least = asked;
    while (lowest(least) < 1) least++;
    const special = specialTokenCount === 0 ? '' : `, of which the tokenizer adds ${specialTokenCount} itself`;
    const spread = ratio === 0 ? '' : ` with random_range_ratio ${ratio}`;
    throw new InputError([
      {
        place: 'random_input_len',
        message: `${asked} tokens${special}${spread} would give empty prompts`,
        hint: `set random_input_len to at least ${least}`,
      },
    ]);
  }
  return { low: lowest(asked), high: Math.ceil(Math.max(0, asked - specialTokenCount) * (1 + ratio)) };
}

/** Every id of the base vocabulary that is not a special token, ascending. */
function usableIds({ vocabSize, specialIds }: Tokenizer): readonly number[] {
  const special = new Set(specialIds);
  return Array.from({ length: vocabSize }, (_, id) => id).filter((id) => !special.has(id));
}
