import { InputError } from '../kit/errors.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Dataset, Making } from './dataset.ts';
import { type ChatText, chatText } from './making/chat-text.ts';
import { countTokens, hasBrokenCharacter } from './making/count-tokens.ts';
import { oversampled, type Sample } from './making/oversample.ts';
import { datasetFile, fileError } from './reading/dataset-file.ts';
import { hasMedia, namedRecipes, type Reading, type Recipe, recipes } from './reading/hf-recipes.ts';
import { fileRows, formatOf, type NumberedRow, shuffledRows } from './reading/hf-rows.ts';
import { type LeftOut, leftOut } from './reading/left-out.ts';

/** Rows whose texts go to the tokenizer together. */
const batchRows = 256;
/** Rows more than are missing, for those whose lengths turn out to be out of bounds. */
const spare = 8;

/**
 * Rows of a data set of the Hugging Face hub that lies in a file. With `hf_name` they become prompts as
 * `vllm bench serve` makes them of the set of that name; without, the columns tell how, and the recorded answer tells
 * the output length. Rows are shuffled as the `datasets` library does it.
 *
 * Where vLLM stops at a row that it cannot use, the row is left out.
 */
export const hf: Dataset = {
  name: 'hf',
  description: 'text rows of a Hugging Face data set, from a JSON, JSONL or CSV file',
  pinsOutput: false,

  async make(options, count, making) {
    making.signal.throwIfAborted();
    const named = namedRecipe(options);
    const path = await datasetFile(options, 'rows of a data set: a JSON array, JSONL or CSV');
    const format = await formatOf(path);
    const left = leftOut(format === 'array' ? 'row' : 'line');
    const rows = shuffledRows(fileRows(path, format, left, making.signal), options);

    const { samples, notes } = await take(rows, count, named, { path, options, making, left });
    const why = left.note(samples.length + left.count());
    if (samples.length === 0) {
      throw fileError(
        [`${path} has no row that can be used.`, ...(why === null ? [] : [why])].join(' '),
        'give rows with a prompt, and a recorded answer unless --hf-output-len is given',
      );
    }
    const made = oversampled(samples, count, options);
    return { requests: made.requests, notes: [...(why === null ? [] : [why]), ...notes, ...made.notes] };
  },
};

function namedRecipe({ hf_name: name }: WorkloadOptions): Recipe | null {
  if (name === undefined) return null;
  const named = namedRecipes.get(name);
  if (named) return named;
  throw new InputError([
    {
      place: '--hf-name',
      message: `how ${name} is made into prompts is not known, or it needs more than text`,
      hint: `leave it out, or use one of ${[...namedRecipes.keys()].join(', ')}`,
    },
  ]);
}

interface Taking {
  readonly path: string;
  readonly options: WorkloadOptions;
  readonly making: Making;
  readonly left: LeftOut;
}

/** Takes rows in turn until there are `count` samples; the file is read no further. */
async function take(
  rows: AsyncIterable<NumberedRow>,
  count: number,
  named: Recipe | null,
  taking: Taking,
): Promise<{ samples: Sample[]; notes: readonly string[] }> {
  const { path, options, making, left } = taking;
  const samples: Sample[] = [];
  let recipe = named;
  let chat: ChatText | undefined;
  let batch: Draft[] = [];
  let strange: readonly string[] | undefined;

  const flush = async (): Promise<void> => {
    if (recipe) samples.push(...(await measured(batch, recipe, taking, count - samples.length)));
    batch = [];
    making.onProgress?.(samples.length, count);
  };

  for await (const { number, row } of rows) {
    if (hasMedia(row)) {
      if (!chat) {
        throw fileError(`row ${number} of ${path} holds images, audio or video`, 'give a data set of text only');
      }
      left.add('with images, audio or video', number);
      continue;
    }
    recipe ??= recipes.find(({ fits }) => fits(row)) ?? null;
    if (!recipe) {
      strange ??= Object.keys(row);
      left.add('without a column that holds a prompt', number);
      continue;
    }
    chat ??= chatFor(recipe, options, making);
    const draft = drafted(number, recipe.fits(row) ? recipe.read(row) : null, chat);
    if (typeof draft === 'string') left.add(draft, number);
    else batch.push(draft);
    if (batch.length >= Math.min(batchRows, count - samples.length + spare)) await flush();
    if (samples.length === count) break;
  }
  if (samples.length < count) await flush();
  if (!recipe && strange) unknownShape(path, strange);
  return { samples, notes: chat?.notes ?? [] };
}

function unknownShape(path: string, columns: readonly string[]): never {
  const has = columns.length === 0 ? 'no columns' : `the columns ${columns.join(', ')}`;
  throw fileError(
    `rows of ${path} have ${has}, and none that holds a prompt`,
    `name the columns as one of: ${recipes.map((one) => one.columns).join('; ')}`,
  );
}

function chatFor({ template }: Recipe, options: WorkloadOptions, making: Making): ChatText {
  if (template === 'never') return chatText({ ...options, skip_chat_template: true }, making);
  // The flag came with v0.11.1, and the sets with a system prompt never heed it; ours does.
  const ignored = options.compat === 'vllm-0.11.0' || (template === 'always' && options.compat !== 'servetune');
  return chatText(ignored ? { ...options, skip_chat_template: false } : options, making);
}

/** A row before its tokens are counted. */
interface Draft {
  readonly number: number;
  readonly prompt: string;
  readonly answer: string | null;
}

function drafted(number: number, read: Reading | null, chat: ChatText): Draft | string {
  if (!read) return 'without a text in a column';
  if (read.messages.every(({ content }) => content === '')) return 'with an empty prompt';
  const prompt = chat.textOf(read.messages);
  if (hasBrokenCharacter(prompt)) return 'with a broken character in the prompt';
  return { number, prompt, answer: read.answer };
}

/** Samples of the rows whose lengths are within bounds, `most` at most; others are counted. */
async function measured(
  drafts: readonly Draft[],
  { outputTokens, limits, template }: Recipe,
  { options, making, left }: Taking,
  most: number,
): Promise<Sample[]> {
  const { tokenizer, signal } = making;
  const wanted = options.hf_output_len ?? (outputTokens === 'answer' ? undefined : outputTokens);
  if (wanted === undefined && !tokenizer) {
    throw new InputError([
      {
        place: '--hf-output-len',
        message: 'the length of recorded answers cannot be counted without a tokenizer',
        hint: 'set it, or leave --skip-tokenizer-init out',
      },
    ]);
  }
  const prompts = await countTokens(
    drafts.map(({ prompt }) => prompt),
    tokenizer,
    signal,
  );
  const answers = wanted
    ? []
    : await countTokens(
        drafts.map(({ answer }) => answer ?? ''),
        tokenizer,
        signal,
      );

  const samples: Sample[] = [];
  for (const [i, { number, prompt, answer }] of drafts.entries()) {
    if (samples.length === most) break;
    const promptTokens = prompts[i] as number;
    // vLLM counts the answers of sets with a system prompt without the tokenizer's own special tokens.
    const own = template === 'always' && tokenizer ? tokenizer.specialTokenCount : 0;
    const output = wanted ?? (answers[i] as number) - own;
    const reason =
      wanted === undefined && (answer === null || answer === '')
        ? 'without a recorded answer to take the length of'
        : tokenizer && limits && (limits.always || wanted === undefined)
          ? outOfBounds(promptTokens, output, limits)
          : null;
    if (reason !== null) left.add(reason, number);
    else samples.push({ prompt, promptTokens, outputTokens: output });
  }
  return samples;
}

function outOfBounds(prompt: number, output: number, limits: NonNullable<Recipe['limits']>): string | null {
  if (prompt < limits.fewest) return `with a prompt of under ${limits.fewest} tokens`;
  if (output < limits.fewest) return `with an answer of under ${limits.fewest} tokens`;
  if (prompt > limits.prompt) return `with a prompt of over ${limits.prompt} tokens`;
  if (prompt + output > limits.total) return `with over ${limits.total} tokens in all`;
  return null;
}
