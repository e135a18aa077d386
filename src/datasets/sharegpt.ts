import { pythonShuffle, pythonTwister } from '../kit/mersenne-twister.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import type { Dataset, Lengths as LengthsOnly, Making } from './dataset.ts';
import { fetchedDataset } from './kept/fetch.ts';
import { standInConversations, standInLengths } from './kept/stand-in.ts';
import { countTokens, hasBrokenCharacter } from './making/count-tokens.ts';
import { needsTokenizer } from './making/needs-tokenizer.ts';
import { oversampled, type Sample } from './making/oversample.ts';
import { present } from './making/repeats.ts';
import { datasetFile, fileError } from './reading/dataset-file.ts';
import { jsonArray } from './reading/json-array.ts';
import { isObject } from './reading/json-lines.ts';
import { type LeftOut, leftOut } from './reading/left-out.ts';

/** Lengths in tokens within which a conversation is taken, ends included. */
const fewest = 4;
const mostPrompt = 1024;
const mostTotal = 2048;

/** Rows whose texts go to the tokenizer together. */
const batchRows = 256;
/** A text whose beginning of so many characters has so many tokens is too long, whatever follows: no need to count on. */
const beginning = { characters: 32_768, tokens: 2 * mostTotal };

/** The first two turns of a conversation, whatever stands for them in the file. */
interface Row {
  readonly number: number;
  readonly prompt: unknown;
  readonly answer: unknown;
}

/**
 * Conversations of a file in the format of ShareGPT: the first turn is the prompt, the second tells how long the answer
 * shall be. The same file, seed and tokenizer give the prompts of `vllm bench serve --dataset-name sharegpt`: rows of
 * two turns or more, shuffled by Python's `random`, are taken in turn unless their lengths are out of bounds.
 *
 * Where vLLM fails (a turn without text, a broken surrogate pair) the row is left out. Whoever speaks first is the
 * prompt, also where that is the assistant. Without a path the fetched file is taken, else invented conversations of
 * like lengths, and a note says so. Throws an InputError when no row can be used.
 */
export const sharegpt: Dataset = {
  name: 'sharegpt',
  description: 'conversations of ShareGPT, or of another file in its format',
  pinsOutput: false,

  async make(options, count, making) {
    const tokenizer = needsTokenizer(making, sharegpt);
    making.signal.throwIfAborted();
    const { rows, path, notes } = await rowsOf(options, making);
    if (!options.disable_shuffle) pythonShuffle(pythonTwister(options.seed), rows);

    const left = leftOut('conversation');
    const { samples, read } = await take(rows, count, options, tokenizer, making, left);
    notes.push(...present(left.note(read)));
    if (samples.length === 0) {
      throw fileError(
        `${path} has no row that can be used. ${notes.join(' ')}`.trim(),
        `give a JSON array of {"conversations": [{"value": "…"}, {"value": "…"}]} with ${fewest} tokens a text or more`,
      );
    }
    const made = oversampled(samples, count, options);
    return { requests: made.requests, notes: [...notes, ...made.notes] };
  },

  async lengths(options, count, { cacheDir }) {
    const known = options.dataset_path ?? (await fetchedDataset(cacheDir, 'sharegpt'));
    return known === null ? standInLoad(options, count) : null;
  },
};

/** The lengths of the stand-in's requests, in vocabularies in which each of its words is one token. */
export function standInLoad(options: WorkloadOptions, count: number): LengthsOnly {
  const { sharegpt_output_len: outputLen } = options;
  const rows = [...standInLengths()];
  if (!options.disable_shuffle) pythonShuffle(pythonTwister(options.seed), rows);
  // A number stands for the text of each conversation, so that repeats are known as such.
  const samples = rows.flatMap(({ prompt: promptTokens, answer: answerTokens }, i): Sample[] => {
    const fits = lengthReason({ promptTokens, answerTokens }, outputLen) === null;
    return fits ? [{ prompt: String(i), promptTokens, outputTokens: outputLen ?? answerTokens }] : [];
  });
  const { requests, notes } = oversampled(samples.slice(0, count), count, options);
  return {
    promptTokens: Int32Array.from(requests, (request) => request.promptTokens),
    outputTokens: Int32Array.from(requests, (request) => request.outputTokens),
    notes: [standInNote, ...notes],
  };
}

const standInNote =
  'The prompts are a synthetic stand-in for ShareGPT: no file was named and none was fetched. Their lengths are ' +
  'distributed like the real ones, their words mean nothing; `servetune dataset fetch sharegpt` gets the real file.';

interface Rows {
  /** With two turns or more, in the order of the file. */
  readonly rows: Row[];
  /** For errors. */
  readonly path: string;
  readonly notes: string[];
}

async function rowsOf(options: WorkloadOptions, { cacheDir, signal }: Making): Promise<Rows> {
  const known = options.dataset_path ?? (await fetchedDataset(cacheDir, 'sharegpt'));
  if (known === null) return standIn();
  const path = await datasetFile({ ...options, dataset_path: known }, 'a JSON array of conversations');
  const rows: Row[] = [];
  const left = leftOut('row');
  let number = 0;
  for await (const entry of jsonArray(path, '--dataset-path', signal)) {
    number++;
    const turns = isObject(entry) ? entry.conversations : undefined;
    if (!Array.isArray(turns)) left.add('without a list of "conversations"', number);
    else if (turns.length < 2) left.add('with fewer than two turns', number);
    else rows.push({ number, prompt: textIn(turns[0]), answer: textIn(turns[1]) });
  }
  return { rows, path, notes: present(left.note(number)) };
}

const textIn = (turn: unknown): unknown => (isObject(turn) ? turn.value : undefined);

const standIn = (): Rows => ({
  // Their texts are written when they are read, so they are not read here.
  rows: standInConversations().map((conversation, i) => ({
    number: i + 1,
    get prompt() {
      return conversation.prompt;
    },
    get answer() {
      return conversation.answer;
    },
  })),
  path: 'the synthetic stand-in',
  notes: [standInNote],
});

/** Takes rows in turn until there are `count` samples; no more of them than that may need are tokenised. */
async function take(
  rows: readonly Row[],
  count: number,
  { sharegpt_output_len: outputLen }: WorkloadOptions,
  tokenizer: Tokenizer,
  { signal, onProgress }: Making,
  left: LeftOut,
): Promise<{ readonly samples: readonly Sample[]; readonly read: number }> {
  const samples: Sample[] = [];
  let read = 0;
  while (samples.length < count && read < rows.length) {
    // Some are left out; the few counted in vain at the end cost less than another round.
    const some = rows
      .slice(read, read + Math.min(batchRows, Math.ceil((count - samples.length) * 1.5)))
      .map(({ number, prompt, answer }) => ({ number, prompt, answer }));
    const lengths = await lengthsOf(some, outputLen === undefined, tokenizer, signal);
    for (const [i, row] of some.entries()) {
      if (samples.length === count) break;
      read++;
      const { promptTokens, answerTokens } = lengths[i] as Lengths;
      const reason = reasonAgainst(row, lengths[i] as Lengths, outputLen);
      if (reason !== null) left.add(reason, row.number);
      else samples.push({ prompt: row.prompt as string, promptTokens, outputTokens: outputLen ?? answerTokens });
    }
    onProgress?.(samples.length, count);
  }
  return { samples, read };
}

interface Lengths {
  readonly promptTokens: number;
  readonly answerTokens: number;
}

function reasonAgainst({ prompt, answer }: Row, lengths: Lengths, outputLen: number | undefined): string | null {
  if (typeof prompt !== 'string' || typeof answer !== 'string') return 'with a turn that has no text';
  if (hasBrokenCharacter(prompt)) return 'with a broken character in the prompt';
  return lengthReason(lengths, outputLen);
}

function lengthReason({ promptTokens, answerTokens }: Lengths, outputLen: number | undefined): string | null {
  if (promptTokens < fewest) return `with a prompt of under ${fewest} tokens`;
  if (promptTokens > mostPrompt) return `with a prompt of over ${mostPrompt} tokens`;
  if (outputLen === undefined && answerTokens < fewest) return `with an answer of under ${fewest} tokens`;
  if (promptTokens + (outputLen ?? answerTokens) > mostTotal) return `with over ${mostTotal} tokens in all`;
  return null;
}

/** Lengths with the tokenizer's own special tokens; of texts that are far too long only that they are. */
async function lengthsOf(
  rows: readonly Row[],
  withAnswers: boolean,
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Promise<Lengths[]> {
  const texts = rows.flatMap(({ prompt, answer }) => [textOf(prompt), withAnswers ? textOf(answer) : '']);
  const beginnings = texts.map((text) => text.slice(0, beginning.characters));
  const counts = [...(await countTokens(beginnings, tokenizer, signal))];
  const unsure = [...texts.keys()].filter(
    (i) => (texts[i] as string).length > beginning.characters && (counts[i] as number) <= beginning.tokens,
  );
  const whole = await countTokens(
    unsure.map((i) => texts[i] as string),
    tokenizer,
    signal,
  );
  for (const [k, i] of unsure.entries()) counts[i] = whole[k] as number;
  return rows.map((_, i) => ({ promptTokens: counts[2 * i] as number, answerTokens: counts[2 * i + 1] as number }));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
