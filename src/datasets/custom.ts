import { pythonShuffle, pythonTwister } from '../kit/mersenne-twister.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Dataset, Making } from './dataset.ts';
import { chatText } from './making/chat-text.ts';
import { countTokens, hasBrokenCharacter } from './making/count-tokens.ts';
import { oversampled, type Sample } from './making/oversample.ts';
import { datasetFile, fileError } from './reading/dataset-file.ts';
import { type JsonObject, jsonLines } from './reading/json-lines.ts';
import { leftOut } from './reading/left-out.ts';

/** Rows whose texts go to the tokenizer together. */
const batchRows = 256;

interface Row {
  readonly prompt: string;
  readonly outputTokens: number;
}

/**
 * Prompts of one's own, one JSON object a line. The same file, seed and tokenizer give the prompts of
 * `vllm bench serve --dataset-name custom`: all rows shuffled by Python's `random`, taken in turn, in the chat template.
 *
 * Where vLLM stops at a row that it cannot use, the row is left out; and an `output_tokens` of the row counts for every
 * version, where v0.11 sends the -1 itself.
 */
export const custom: Dataset = {
  name: 'custom',
  description: 'prompts of a JSONL file, {"prompt": "…", "output_tokens": 128} a line',
  pinsOutput: false,

  async make(options, count, making) {
    making.signal.throwIfAborted();
    const chat = chatText(options, making);
    const { rows, note } = await rowsOf(options, making.signal);
    if (!options.disable_shuffle) pythonShuffle(pythonTwister(options.seed), rows);

    const samples: Sample[] = [];
    const taken = rows.slice(0, count);
    for (let from = 0; from < taken.length; from += batchRows) {
      const some = taken.slice(from, from + batchRows);
      const texts = some.map(({ prompt }) => chat.textOf([{ role: 'user', content: prompt }]));
      const counts = await countTokens(texts, making.tokenizer, making.signal);
      for (const [i, prompt] of texts.entries()) {
        samples.push(sampleOf(prompt, counts[i] as number, some[i] as Row, options, making));
      }
      making.onProgress?.(samples.length, count);
    }
    const made = oversampled(samples, count, options);
    return { requests: made.requests, notes: [...(note === null ? [] : [note]), ...chat.notes, ...made.notes] };
  },
};

function sampleOf(
  prompt: string,
  promptTokens: number,
  { outputTokens }: Row,
  { compat }: WorkloadOptions,
  { tokenizer }: Making,
): Sample {
  // Without a tokenizer vLLM takes every length for 1, also that of the answer, which is known all the same.
  if (!tokenizer && compat === 'vllm-2026-08') return { prompt, promptTokens: 1, outputTokens: 1 };
  return { prompt, promptTokens, outputTokens };
}

/** Every usable row of the file, in its order. Throws an InputError when there is none. */
async function rowsOf(options: WorkloadOptions, signal: AbortSignal): Promise<{ rows: Row[]; note: string | null }> {
  const path = await datasetFile(options, 'one {"prompt": "…"} a line');
  const left = leftOut('line');
  const rows: Row[] = [];
  for await (const { number, row, holds } of jsonLines(path, signal)) {
    const read = row ? rowOf(row, options.custom_output_len) : `with ${holds}`;
    if (typeof read === 'string') left.add(read, number);
    else rows.push(read);
  }
  const note = left.note(rows.length + left.count());
  if (rows.length === 0) {
    const lengths = options.custom_output_len === -1 ? ', and a whole "output_tokens" of at least 1' : '';
    throw fileError(`${path} has no row that can be used. ${note}`, `give each row a text "prompt"${lengths}`);
  }
  return { rows, note };
}

/** A row, or why it cannot be used. */
function rowOf({ prompt, output_tokens: recorded }: JsonObject, outputLen: number): Row | string {
  if (typeof prompt !== 'string') return 'without a text in "prompt"';
  if (prompt === '') return 'with an empty prompt';
  if (hasBrokenCharacter(prompt)) return 'with a broken character in the prompt';
  if (outputLen !== -1) return { prompt, outputTokens: outputLen };
  const outputTokens = typeof recorded === 'string' ? Number(recorded.trim() || Number.NaN) : recorded;
  if (typeof outputTokens !== 'number' || !(outputTokens >= 1) || !Number.isFinite(outputTokens)) {
    return 'without "output_tokens" of at least 1';
  }
  return { prompt, outputTokens: Math.floor(outputTokens) };
}
