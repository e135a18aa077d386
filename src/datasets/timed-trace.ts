import type { RequestSpec } from '../records/request.ts';
import type { WorkloadOptions } from '../records/workload.ts';
import type { Dataset } from './dataset.ts';
import { needsTokenizer } from './making/needs-tokenizer.ts';
import { traceTexts } from './making/trace-texts.ts';
import { readTrace, type TraceRow } from './reading/trace-rows.ts';

const dayS = 86_400;

/**
 * Requests of a recorded trace (Mooncake's format), sent at the times that it records, with prompts of the lengths that
 * it records. A hash id stands for a block of tokens; the same id gives the same block, so that prompts that began alike
 * do so again and a prefix cache has the hits that it had.
 *
 * vLLM's blocks differ from run to run (they are seeded with Python's `hash` of a string), so there are no prompts to
 * reproduce. Its faults are mended in every compat mode: a prompt is as long as recorded also where its ids cover less;
 * the block at the end of a prompt is the beginning of the whole one; the first request is sent at once; rows are
 * sorted by time.
 */
export const timedTrace: Dataset = {
  name: 'timed_trace',
  description: 'a recorded trace, replayed at its own times, from a JSONL file',
  pinsOutput: true,

  async make(options, count, making) {
    const tokenizer = needsTokenizer(making, timedTrace);
    making.signal.throwIfAborted();
    const { rows, notes } = await readTrace(options, count, making.signal);
    const { texts, notes: textNotes } = await traceTexts(rows, options, tokenizer, making);

    const startS = rows[0]?.timeS ?? 0;
    const requests = rows.map((row, index): RequestSpec => {
      const { text, tokens } = texts[index] as { text: string; tokens: number };
      const spec = { index, prompt: text, promptTokens: tokens, outputTokens: row.outputTokens };
      return options.self_timed ? { ...spec, dueS: row.timeS - startS } : spec;
    });
    return { requests, notes: [...notes, ...textNotes, ...lengthNotes(rows, count, options)] };
  },

  async lengths(options, count, { signal }) {
    const { rows, notes } = await readTrace(options, count, signal);
    const startS = rows[0]?.timeS ?? 0;
    return {
      promptTokens: Int32Array.from(rows, ({ inputTokens }) => inputTokens),
      outputTokens: Int32Array.from(rows, ({ outputTokens }) => outputTokens),
      sharedTokens: sharedTokens(rows, options.timed_trace_chunk_hash_size),
      ...(options.self_timed ? { dueS: Float64Array.from(rows, ({ timeS }) => timeS - startS) } : {}),
      notes: [...notes, ...lengthNotes(rows, count, options)],
    };
  },
};

/** Tokens of the blocks with which each row begins, as far as an earlier one begins with the same. */
function sharedTokens(rows: readonly TraceRow[], blockTokens: number): Int32Array {
  /** Beginnings that were seen, each as a number: of the beginning without its last block, and that block's id. */
  const seen = new Map<string, number>();
  return Int32Array.from(rows, ({ hashIds, inputTokens }) => {
    let beginning = 0;
    let shared = 0;
    for (const id of hashIds) {
      const key = `${beginning} ${id}`;
      const known = seen.get(key);
      if (known !== undefined) shared++;
      beginning = known ?? seen.size + 1;
      if (known === undefined) seen.set(key, beginning);
    }
    return Math.min(shared * blockTokens, inputTokens);
  });
}

function lengthNotes(rows: readonly TraceRow[], count: number, options: WorkloadOptions): string[] {
  const notes: string[] = [];
  if (rows.length < count)
    notes.push(`The trace has only ${rows.length} of the ${count} requests that were asked for.`);
  const lastsS = (rows.at(-1)?.timeS ?? 0) - (rows[0]?.timeS ?? 0);
  if (options.self_timed && lastsS > dayS) {
    notes.push(
      `The trace lasts ${Math.round(lastsS)} s; with timestamps in milliseconds give --timed-trace-sec-multiplier 0.001.`,
    );
  }
  return notes;
}
