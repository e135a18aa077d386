import { InputError } from '../kit/errors.ts';
import { createRandom } from '../kit/random.ts';
import type { Compat } from '../records/compat.ts';
import type { RequestSpec } from '../records/request.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { Dataset } from './dataset.ts';
import { addedByServer } from './making/count-tokens.ts';
import {
  type Draft,
  draftOf,
  lengthNote,
  settleLengths,
  shortenDrafts,
  truncateDrafts,
} from './making/exact-length.ts';
import { needsTokenizer } from './making/needs-tokenizer.ts';
import { present, repeatNote } from './making/repeats.ts';

/** What differs between the releases of `vllm bench serve`. */
interface Variant {
  /** Prompts are repaired until they have their length; otherwise cut off once, so that some stay shorter. */
  readonly repairs: boolean;
  /** The shared prefix is repaired by itself first. */
  readonly repairsPrefix: boolean;
  /** Special tokens within the base vocabulary are left out. */
  readonly plainOnly: boolean;
  /** Departs from vLLM where its prompts would repeat (`fewIds`) or stay too long (`shortenDrafts`). */
  readonly corrects: boolean;
}
const variants: Readonly<Record<Compat, Variant>> = {
  'vllm-0.11.0': { repairs: false, repairsPrefix: false, plainOnly: false, corrects: false },
  'vllm-0.11.1': { repairs: true, repairsPrefix: false, plainOnly: true, corrects: false },
  'vllm-2026-08': { repairs: true, repairsPrefix: true, plainOnly: true, corrects: false },
  servetune: { repairs: true, repairsPrefix: true, plainOnly: true, corrects: true },
};

/**
 * Vocabularies with fewer entries get each id drawn. Runs of consecutive ids begin at as many places as there are ids,
 * so a small vocabulary would give the same prompts over and over, and a prefix cache would answer them.
 */
const fewIds = 16_384;

/** Prompts and tokens that are worked on together: enough to keep threads or a network busy, and progress moving. */
const batch = { prompts: 256, tokens: 262_144 };

/**
 * Prompts of consecutive token ids from a random place in the vocabulary. The same seed and tokenizer give byte for
 * byte the prompts of `vllm bench serve --dataset-name random`, of the release that `compat` names: draws from numpy's
 * `default_rng(seed)` in the order input lengths, output lengths, offsets, shared prefix. `servetune` gives those of
 * August 2026, but for vocabularies too small for that (`fewIds`) and prompts that cannot be repaired. Two runs of ids
 * now and then begin at the same place (four of a thousand prompts from 151,643 ids); a note says how many.
 */
export const random: Dataset = {
  name: 'random',
  description: 'random token ids of an exact length',
  pinsOutput: true,

  async make(options, count, making) {
    const tokenizer = needsTokenizer(making, random);
    const { signal } = making;
    const { repairs, repairsPrefix, plainOnly, corrects } = variants[options.compat];
    const { random_prefix_len: prefixLen } = options;
    const { generator, inputLens, outputLens } = drawnLengths(options, count, tokenizer);
    const offsets = generator.integers(0, tokenizer.vocabSize, count);

    const usable = usableIds(tokenizer, plainOnly);
    const idAt = (i: number): number => usable[i % usable.length] as number;
    const bring = async (drafts: readonly Draft[]): Promise<void> => {
      if (!repairs) return truncateDrafts(drafts, tokenizer, signal);
      await settleLengths(drafts, tokenizer, generator, signal);
      if (corrects) await shortenDrafts(drafts, tokenizer, signal);
    };

    let prefix: readonly number[] = [];
    if (prefixLen > 0) {
      prefix = generator.integers(0, usable.length, prefixLen).map(idAt);
      if (repairsPrefix) {
        const draft = draftOf(prefix, prefixLen);
        await bring([draft]);
        prefix = draft.ids;
      }
    }

    const added = addedByServer(options, making);
    const lengths: { tokens: number; target: number }[] = [];
    const requests: RequestSpec[] = [];
    while (requests.length < count) {
      const drafts: Draft[] = [];
      let tokens = 0;
      for (let i = requests.length; i < count && drafts.length < batch.prompts && tokens < batch.tokens; i++) {
        const length = inputLens[i] as number;
        const start = (offsets[i] as number) + i;
        const inner =
          corrects && usable.length < fewIds
            ? generator.integers(0, usable.length, length).map(idAt)
            : Array.from({ length }, (_, j) => idAt(start + j));
        drafts.push(draftOf([...prefix, ...inner], prefixLen + length));
        tokens += prefixLen + length;
      }
      await bring(drafts);
      for (const { text, ids, target } of drafts) {
        const index = requests.length;
        const promptTokens = ids.length + added;
        requests.push({ index, prompt: text, promptTokens, outputTokens: outputLens[index] as number });
        lengths.push({ tokens: ids.length, target });
      }
      making.onProgress?.(requests.length, count);
    }

    return { requests, notes: present(lengthNote(lengths), repeatNote(requests)) };
  },

  async lengths(options, count) {
    const { random_prefix_len: prefixLen } = options;
    const { inputLens, outputLens } = drawnLengths(options, count, { specialTokenCount: 0 });
    return {
      promptTokens: Int32Array.from(inputLens, (length) => prefixLen + length),
      outputTokens: Int32Array.from(outputLens),
      ...(prefixLen > 0 ? { sharedTokens: new Int32Array(count).fill(prefixLen, 1) } : {}),
      notes: [],
    };
  },
};

/** The lengths, prefix left out, and the generator that the rest is drawn from. */
function drawnLengths(options: WorkloadOptions, count: number, tokenizer: Pick<Tokenizer, 'specialTokenCount'>) {
  const { random_output_len: outputLen } = options;
  const ratio = ratiosOf(options);
  const input = inputRange(options, tokenizer);
  const low = Math.max(1, Math.floor(outputLen * (1 - ratio.output)));
  const high = Math.max(1, Math.ceil(outputLen * (1 + ratio.output)));
  const generator = createRandom(options.seed);
  const inputLens = generator.integers(input.low, input.high + 1, count);
  const outputLens = generator.integers(low, high + 1, count);
  return { generator, inputLens, outputLens };
}

const ratiosOf = ({ random_range_ratio: r }: WorkloadOptions): { readonly input: number; readonly output: number } =>
  typeof r === 'number' ? { input: r, output: r } : r;

/** Shortest and longest prompt without the prefix. The tokenizer's own special tokens are part of the length asked for. */
function inputRange(
  options: WorkloadOptions,
  { specialTokenCount }: Pick<Tokenizer, 'specialTokenCount'>,
): { low: number; high: number } {
  const { random_input_len: asked, random_prefix_len: prefixLen } = options;
  const ratio = ratiosOf(options).input;
  const lowest = (length: number): number => Math.floor(Math.max(0, length - specialTokenCount) * (1 - ratio));
  if (lowest(asked) + prefixLen < 1) {
    let least = specialTokenCount + Math.max(1, Math.floor(1 / (1 - ratio)));
    while (lowest(least) < 1) least++;
    const special = specialTokenCount === 0 ? '' : `, of which the tokenizer adds ${specialTokenCount} itself`;
    const spread = ratio === 0 ? '' : ` with random_range_ratio ${ratio}`;
    throw new InputError([
      {
        place: 'random_input_len',
        message: `${asked} tokens${special}${spread} would give empty prompts`,
        hint: `set random_input_len to at least ${least}${ratio === 0 ? '' : ', or lower random_range_ratio'}`,
      },
    ]);
  }
  return { low: lowest(asked), high: Math.ceil(Math.max(0, asked - specialTokenCount) * (1 + ratio)) };
}

/** Every id of the base vocabulary, ascending; with `plainOnly` without special tokens. */
function usableIds({ vocabSize, specialIds }: Tokenizer, plainOnly: boolean): readonly number[] {
  const special = new Set(plainOnly ? specialIds : []);
  return Array.from({ length: vocabSize }, (_, id) => id).filter((id) => !special.has(id));
}
