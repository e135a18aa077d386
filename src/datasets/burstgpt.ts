import { numpyTwister } from '../kit/mersenne-twister.ts';
import type { RequestSpec } from '../records/request.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { Dataset } from './dataset.ts';
import { addedByServer } from './making/count-tokens.ts';
import { exactTexts } from './making/exact-texts.ts';
import { needsTokenizer } from './making/needs-tokenizer.ts';
import { sampledRows } from './making/numpy-draws.ts';
import { present, repeatNote } from './making/repeats.ts';
import { csvRows } from './reading/csv.ts';
import { datasetFile, fileError } from './reading/dataset-file.ts';
import { leftOut } from './reading/left-out.ts';

const columns = ['Model', 'Request tokens', 'Response tokens'] as const;

interface Lengths {
  readonly input: number;
  readonly output: number;
}

/**
 * Prompt and answer lengths of the GPT-4 requests of BurstGPT that were answered, drawn as pandas' `DataFrame.sample`
 * does; prompt i is made of the token ids i, i + 1, i + 2, ... The same file, seed and tokenizer give the prompts of
 * `vllm bench serve --dataset-name burstgpt`.
 *
 * vLLM takes for granted that the text of these ids has as many tokens again, and makes the prompts from about the
 * hundredth on of bytes that are no character, which come out alike and of other lengths. Here such ids are passed over
 * and the text is repaired until its length is right; the compat modes of vLLM keep both faults. Columns are known by
 * their names, where vLLM counts them. A recorded prompt of 0 tokens is sent with one.
 */
export const burstgpt: Dataset = {
  name: 'burstgpt',
  description: 'lengths of the GPT-4 requests of BurstGPT, from its CSV file',
  pinsOutput: true,

  async make(options, count, making) {
    const tokenizer = needsTokenizer(making, burstgpt);
    const { signal } = making;
    signal.throwIfAborted();
    const { rows, notes } = await lengthsOf(options, signal);
    const taken = takenRows(rows, options, count);

    const mended = options.compat === 'servetune';
    const usable = mended
      ? await readableIds(tokenizer, signal)
      : Array.from({ length: tokenizer.vocabSize }, (_, id) => id);
    const ids = taken.map(({ input }, i) =>
      Array.from({ length: input }, (_, j) => usable[(i + j) % usable.length] as number),
    );
    const requests: RequestSpec[] = [];
    if (mended) {
      const made = await exactTexts(ids, tokenizer, options.seed, making);
      const added = addedByServer(options, making);
      for (const [index, { text, tokens }] of made.texts.entries()) {
        const { output: outputTokens } = taken[index] as Lengths;
        requests.push({ index, prompt: text, promptTokens: tokens + added, outputTokens });
      }
      notes.push(...made.notes);
    } else {
      for (const [index, prompt] of (await tokenizer.decode(ids, signal)).entries()) {
        const { input, output } = taken[index] as Lengths;
        requests.push({ index, prompt, promptTokens: input, outputTokens: output });
      }
    }

    notes.push(...present(fewNote(taken.length, rows.length, count)));
    return { requests, notes: [...notes, ...present(repeatNote(requests))] };
  },

  async lengths(options, count, { signal }) {
    const { rows, notes } = await lengthsOf(options, signal);
    const taken = takenRows(rows, options, count);
    return {
      promptTokens: Int32Array.from(taken, ({ input }) => input),
      outputTokens: Int32Array.from(taken, ({ output }) => output),
      notes: [...notes, ...present(fewNote(taken.length, rows.length, count))],
    };
  },
};

function fewNote(made: number, rows: number, count: number): string | null {
  if (made < count) return `The dataset has only ${rows} of the ${count} requests asked for.`;
  if (count <= rows) return null;
  return `Lengths are used more than once, since the dataset has only ${rows} rows for ${count} requests.`;
}

/** In vocabularies of bytes the single bytes stand among these. */
const firstIds = 512;

/** Ids that are no special token, without those at the beginning that are no whole character: all but a few of them. */
async function readableIds(tokenizer: Tokenizer, signal: AbortSignal): Promise<readonly number[]> {
  const { vocabSize, specialIds } = tokenizer;
  const special = new Set(specialIds);
  const ids = Array.from({ length: vocabSize }, (_, id) => id).filter((id) => !special.has(id));
  const first = ids.slice(0, firstIds);
  const texts = await tokenizer.decode(
    first.map((id) => [id]),
    signal,
  );
  const readable = first.filter((_, k) => !texts[k]?.includes('\ufffd'));
  return readable.length === 0 ? ids : [...readable, ...ids.slice(firstIds)];
}

/** The rows in the order of the requests. vLLM knows neither of the two flags here. */
function takenRows(
  rows: readonly Lengths[],
  { disable_shuffle, no_oversample, seed, compat }: WorkloadOptions,
  asked: number,
): readonly Lengths[] {
  const flags = compat === 'servetune';
  const count = flags && no_oversample ? Math.min(asked, rows.length) : asked;
  const places =
    flags && disable_shuffle
      ? Array.from({ length: count }, (_, i) => i % rows.length)
      : sampledRows(numpyTwister(seed), rows.length, count);
  return places.map((place) => rows[place] as Lengths);
}

/** Lengths of every usable row of the file, in its order. Throws an InputError when there is none. */
async function lengthsOf(options: WorkloadOptions, signal: AbortSignal): Promise<{ rows: Lengths[]; notes: string[] }> {
  const path = await datasetFile(options, `the columns ${columns.join(', ')}`);
  const left = leftOut('line');
  const rows: Lengths[] = [];
  let places: readonly number[] | undefined;
  let empty = 0;
  for await (const { line, cells } of csvRows(path, signal)) {
    if (!places) {
      places = columnPlaces(cells, path);
      continue;
    }
    const [model = '', input = '', output = ''] = places.map((place) => cells[place]?.trim() ?? '');
    const row = { input: tokensIn(input), output: tokensIn(output) };
    if (model !== 'GPT-4') left.add('of another model than GPT-4', line);
    else if (Number.isNaN(row.input) || Number.isNaN(row.output)) left.add('without a number of tokens', line);
    else if (row.output < 1) left.add('without an answer', line);
    else {
      if (row.input === 0) empty++;
      rows.push({ ...row, input: Math.max(1, row.input) });
    }
  }
  const note = left.note(rows.length + left.count());
  if (rows.length === 0) {
    const message = [`${path} has no row that can be used.`, ...(note === null ? [] : [note])].join(' ');
    throw fileError(message, 'give a CSV file with rows of the model GPT-4 that have response tokens');
  }
  const notes = note === null ? [] : [note];
  if (empty > 0) notes.push(`${empty} rows record a prompt of 0 tokens; a request made of one has 1.`);
  return { rows, notes };
}

/** Where the columns stand. Throws an InputError when one is missing. */
function columnPlaces(header: readonly string[], path: string): readonly number[] {
  const names = header.map((name) => name.trim());
  const missing = columns.filter((column) => !names.includes(column));
  if (missing.length > 0) {
    throw fileError(
      `${path} has no column ${missing.map((column) => `"${column}"`).join(', ')} in its first line`,
      `give a CSV file with the header Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type`,
    );
  }
  return columns.map((column) => names.indexOf(column));
}

/** A whole number of tokens, as pandas' column cut to an integer; NaN for anything else. */
const tokensIn = (cell: string): number =>
  /^\d+(\.\d*)?$/.test(cell) && Number(cell) <= 10_000_000 ? Math.floor(Number(cell)) : Number.NaN;
