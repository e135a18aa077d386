import { InputError } from '../kit/errors.ts';
import { numpyTwister, pythonShuffle, pythonTwister } from '../kit/mersenne-twister.ts';
import type { Random } from '../kit/random.ts';
import type { RequestSpec } from '../records/request.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { Dataset, Making } from './dataset.ts';
import { addedByServer } from './making/count-tokens.ts';
import { draftOf, settleLengths } from './making/exact-length.ts';
import { exactTexts, withoutSpecials } from './making/exact-texts.ts';
import { needsTokenizer } from './making/needs-tokenizer.ts';
import { legacyIntegers } from './making/numpy-draws.ts';
import { present, repeatNote } from './making/repeats.ts';

/**
 * A few shared prefixes of random tokens, each in front of as many suffixes of random tokens, in an order that Python's
 * `random` shuffles. Tokens are drawn with numpy's legacy generator, so the same seed and tokenizer give the prompts of
 * `vllm bench serve --dataset-name prefix_repetition`, but for three faults of vLLM, which its compat modes keep:
 * prompts are missing where their number cannot be divided by that of the prefixes; a prompt has another length than
 * both parts have, where they join to other tokens; and special tokens stand in prompts if the vocabulary holds them.
 */
export const prefixRepetition: Dataset = {
  name: 'prefix_repetition',
  description: 'random tokens behind one of a few shared prefixes',
  pinsOutput: true,

  async make(options, count, making) {
    const tokenizer = needsTokenizer(making, prefixRepetition);
    making.signal.throwIfAborted();
    const ids = await drawn(options, count, tokenizer, making);
    const { texts, notes } = await textsOf(ids, options, tokenizer, making);
    const added = addedByServer(options, making);
    const samples = texts.map(({ text, tokens }) => ({
      prompt: text,
      promptTokens: tokens + added,
      outputTokens: options.prefix_repetition_output_len,
    }));
    if (!options.disable_shuffle) pythonShuffle(pythonTwister(options.seed), samples);

    return {
      requests: samples.map((sample, index): RequestSpec => ({ ...sample, index })),
      notes: [...present(fewerNote(ids.length, count)), ...notes, ...present(repeatNote(samples))],
    };
  },

  async lengths(options, count) {
    const { prefix_repetition_prefix_len: prefixLen, prefix_repetition_suffix_len: suffixLen } = options;
    const prefixes = suffixesOf(options, count).flatMap((suffixes, prefix) => new Array<number>(suffixes).fill(prefix));
    if (!options.disable_shuffle) pythonShuffle(pythonTwister(options.seed), prefixes);
    const made = prefixes.length;
    return {
      promptTokens: new Int32Array(made).fill(prefixLen + suffixLen),
      outputTokens: new Int32Array(made).fill(options.prefix_repetition_output_len),
      sharedTokens: Int32Array.from(prefixes, (prefix, i) => (prefixes.indexOf(prefix) < i ? prefixLen : 0)),
      notes: present(fewerNote(made, count)),
    };
  },
};

const fewerNote = (made: number, count: number): string | null =>
  made < count ? `Only ${made} of ${count} prompts were made, the same number for each prefix, as vLLM does it.` : null;

/** How many suffixes each prefix gets. Throws an InputError where there are fewer prompts than prefixes. */
function suffixesOf(
  { prefix_repetition_num_prefixes: prefixes, compat }: WorkloadOptions,
  count: number,
): readonly number[] {
  const each = Math.floor(count / prefixes);
  if (each === 0) {
    throw new InputError([
      {
        place: '--prefix-repetition-num-prefixes',
        message: `${prefixes} prefixes are more than the ${count} prompts that shall have them`,
        hint: `set it to at most ${count}, or --num-prompts to at least ${prefixes}`,
      },
    ]);
  }
  const rest = compat === 'servetune' ? count % prefixes : 0;
  return Array.from({ length: prefixes }, (_, prefix) => each + (prefix < rest ? 1 : 0));
}

/** The ids of each prompt, one prefix after the other. */
async function drawn(
  options: WorkloadOptions,
  count: number,
  tokenizer: Tokenizer,
  { signal, onProgress }: Making,
): Promise<readonly (readonly number[])[]> {
  const { prefix_repetition_prefix_len: prefixLen, prefix_repetition_suffix_len: suffixLen, compat } = options;
  const random = legacyIntegers(numpyTwister(options.seed));
  const part = compat === 'vllm-0.11.0' ? joinedPart : settledPart;

  const prompts: (readonly number[])[] = [];
  for (const suffixes of suffixesOf(options, count)) {
    const prefix = await part(prefixLen, tokenizer, random, signal);
    for (let i = 0; i < suffixes; i++) {
      prompts.push([...prefix, ...(await part(suffixLen, tokenizer, random, signal))]);
      // The other half of the work is to make texts of them.
      if (prompts.length % 64 === 0) onProgress?.(Math.floor(prompts.length / 2), count);
    }
  }
  return prompts;
}

type Part = (
  length: number,
  tokenizer: Tokenizer,
  random: Pick<Random, 'integers'>,
  signal: AbortSignal,
) => Promise<readonly number[]>;

/** Drawn ids, repaired until their text encodes to `length` ids, at most ten times. */
const settledPart: Part = async (length, tokenizer, random, signal) => {
  if (length === 0) return [];
  const draft = draftOf(random.integers(0, tokenizer.vocabSize, length), length);
  await settleLengths([draft], tokenizer, random, signal);
  return draft.ids;
};

/** The ids of the text of drawn ids, cut off, or with a further part of what is missing behind them: v0.11.0's way. */
const joinedPart: Part = async (length, tokenizer, random, signal) => {
  const ids: number[] = [];
  while (ids.length < length) {
    const texts = await tokenizer.decode([random.integers(0, tokenizer.vocabSize, length - ids.length)], signal);
    const [encoded = []] = await tokenizer.encode(texts, signal);
    // A text that encodes to nothing would be drawn for ever.
    ids.push(...(encoded.length === 0 ? [0] : encoded).slice(0, length - ids.length));
  }
  return ids;
};

async function textsOf(
  ids: readonly (readonly number[])[],
  options: WorkloadOptions,
  tokenizer: Tokenizer,
  { signal, onProgress }: Making,
): Promise<{ texts: readonly { text: string; tokens: number }[]; notes: readonly string[] }> {
  const half = Math.floor(ids.length / 2);
  if (options.compat === 'servetune') {
    const { seed, prefix_repetition_prefix_len: prefixLen, prefix_repetition_suffix_len: suffixLen } = options;
    const progress = (done: number, total: number): void => onProgress?.(Math.max(half, done), total);
    return exactTexts(
      ids.map((list) => withoutSpecials(list, tokenizer)),
      tokenizer,
      seed,
      { signal, onProgress: progress },
      prefixLen + suffixLen,
    );
  }
  const texts = await tokenizer.decode(ids, signal);
  return { texts: texts.map((text, i) => ({ text, tokens: (ids[i] as readonly number[]).length })), notes: [] };
}
