import type { Lengths } from '../../datasets/dataset.ts';
import { standInLoad } from '../../datasets/sharegpt.ts';
import type { Environment } from '../../engines/engine.ts';
import { defaultCacheDir } from '../../kit/cache-dir.ts';
import { InputError } from '../../kit/errors.ts';
import { nominalLengths } from '../../records/dataset-options.ts';
import type { RequestSpec } from '../../records/request.ts';
import type { Workload } from '../../records/workload.ts';
import { chooseTokenizer } from '../../tokenizers/choose.ts';
import { datasetNamed, PromptPool } from '../prompts.ts';

/** Where lengths come from. */
export interface LengthsSource {
  /** The study's: its tokenizer counts where a file holds texts. */
  readonly model: string;
  readonly environment: Environment;
  readonly signal: AbortSignal;
}

/** The requests of a workload as lengths: those of its seed first, then, as far as they are asked for, those of the next seeds. */
export interface LengthsPool {
  /** At least so many where the dataset has them; those of the workload itself always. */
  atLeast(count: number): Promise<Lengths>;
}

/**
 * The lengths of a workload's requests. Where only the texts tell them, prompts are made with the model's own tokenizer.
 * Throws an InputError where there is none, and for what is wrong with the dataset.
 */
export async function lengthsOf(workload: Workload, source: LengthsSource): Promise<LengthsPool> {
  const dataset = datasetNamed(workload.dataset_name);
  const { signal, environment } = source;
  const making = { signal, cacheDir: defaultCacheDir(environment) };
  const round = async (n: number): Promise<Lengths | null> => {
    const options = { ...workload, seed: (workload.seed + n) % 2 ** 32 };
    return (await dataset.lengths?.(options, workload.num_prompts, making)) ?? null;
  };
  const first = await round(0);
  if (first !== null) return inRounds(first, workload.num_prompts, async (n) => (await round(n)) as Lengths);

  const { tokenizer, note } = await chooseTokenizer({ model: source.model, env: environment, signal });
  if (note === undefined) {
    const pool = new PromptPool(workload, making.cacheDir);
    return {
      async atLeast(count) {
        return columns(await pool.atLeast(count, { tokenizer, signal }), nominalLengths(workload).prefix, pool.notes);
      },
    };
  }
  if (workload.dataset_name === 'sharegpt' && workload.dataset_path === undefined) {
    const counted = `No tokenizer of ${source.model} is here to count the tokens of ShareGPT’s texts.`;
    const load = (n: number): Lengths => {
      const made = standInLoad({ ...workload, seed: (workload.seed + n) % 2 ** 32 }, workload.num_prompts);
      return { ...made, notes: [counted, ...made.notes] };
    };
    return inRounds(load(0), workload.num_prompts, async (n) => load(n));
  }
  throw new InputError([
    {
      place: `workload ${workload.name}`,
      message: `cannot be simulated: the lengths of ${workload.dataset_name} are those of its texts, and no tokenizer of ${source.model} is here to count them`,
      hint: `download it (hf download ${source.model} tokenizer.json tokenizer_config.json), or take a dataset of known lengths: random`,
    },
  ]);
}

function inRounds(first: Lengths, perRound: number, round: (n: number) => Promise<Lengths>): LengthsPool {
  let all = first;
  let rounds = 1;
  let isExhausted = first.promptTokens.length < perRound;
  return {
    async atLeast(count) {
      while (all.promptTokens.length < count && !isExhausted) {
        const more = await round(rounds++);
        isExhausted = more.promptTokens.length < perRound;
        all = joined(all, more);
      }
      return all;
    },
  };
}

/** One after the other. Prompts of another seed share nothing with the ones before. */
function joined(a: Lengths, b: Lengths): Lengths {
  const shared = (one: Lengths): Int32Array => one.sharedTokens ?? new Int32Array(one.promptTokens.length);
  return {
    promptTokens: both(a.promptTokens, b.promptTokens),
    outputTokens: both(a.outputTokens, b.outputTokens),
    sharedTokens: both(shared(a), shared(b)),
    // Requests of a second round are late already when they come, as in a real load.
    ...(a.dueS && b.dueS ? { dueS: Float64Array.from([...a.dueS, ...b.dueS.fill(a.dueS.at(-1) ?? 0)]) } : {}),
    notes: [...new Set([...a.notes, ...b.notes])],
  };
}

function both(a: Int32Array, b: Int32Array): Int32Array {
  const all = new Int32Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

function columns(requests: readonly RequestSpec[], prefixTokens: number, notes: readonly string[]): Lengths {
  return {
    ...(prefixTokens > 0 ? { sharedTokens: new Int32Array(requests.length).fill(prefixTokens, 1) } : {}),
    promptTokens: Int32Array.from(requests, ({ promptTokens }) => promptTokens),
    outputTokens: Int32Array.from(requests, ({ outputTokens }) => outputTokens),
    ...(requests.every(({ dueS }) => dueS !== undefined)
      ? { dueS: Float64Array.from(requests, ({ dueS }) => dueS ?? 0) }
      : {}),
    notes,
  };
}
