import type { RecordList, RequestRecord } from '../records/request.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';

/** Answers that are encoded at a time. */
const batch = 256;
/** In place of a count: the record stays as it is. */
const untouched = -1;

/**
 * The records with the output tokens of every answer that the server did not count counted by the tokenizer, as far as
 * its text was kept. An event is not a token: speculative decoding and busy servers put several into one. The list is
 * made from the given one each time it is gone through, so it takes four bytes a record.
 */
export async function recount(records: RecordList, tokenizer: Tokenizer, signal: AbortSignal): Promise<RecordList> {
  let counts: Int32Array | undefined;
  const encode = async (open: readonly OpenAnswer[]): Promise<void> => {
    if (open.length === 0) return;
    counts ??= new Int32Array(records.length).fill(untouched);
    const ids = await tokenizer.encode(
      open.map(({ text }) => text),
      signal,
    );
    for (const [k, { at }] of open.entries()) counts[at] = ids[k]?.length ?? 0;
  };

  let open: OpenAnswer[] = [];
  let at = 0;
  for (const { outputTokensBy, text } of records) {
    if (outputTokensBy === 'chunks' && text !== undefined) open.push({ at, text });
    at++;
    if (open.length < batch) continue;
    await encode(open);
    open = [];
  }
  await encode(open);
  return counts === undefined ? records : withCounts(records, counts);
}

/** An answer whose tokens nobody has counted, and its place in the list. */
interface OpenAnswer {
  readonly at: number;
  readonly text: string;
}

const withCounts = (records: RecordList, counts: Int32Array): RecordList => ({
  length: records.length,
  *[Symbol.iterator](): Iterator<RequestRecord> {
    let at = 0;
    for (const record of records) {
      const outputTokens = counts[at++] ?? untouched;
      yield outputTokens === untouched ? record : { ...record, outputTokens, outputTokensBy: 'tokenizer' };
    }
  },
});
