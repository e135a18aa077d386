import type { RequestRecord } from '../records/request.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';

/** Answers that are encoded at a time. */
const batch = 256;

/**
 * The records with the output tokens of every answer that the server did not count counted by the tokenizer, as far as
 * its text was kept. An event is not a token: speculative decoding and busy servers put several into one.
 */
export async function recount(
  records: readonly RequestRecord[],
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Promise<readonly RequestRecord[]> {
  const counted = [...records];
  const open = records.flatMap((r, i) => (r.outputTokensBy === 'chunks' && r.text !== undefined ? [i] : []));
  for (let from = 0; from < open.length; from += batch) {
    const some = open.slice(from, from + batch);
    const ids = await tokenizer.encode(
      some.map((i) => records[i]?.text ?? ''),
      signal,
    );
    for (const [k, i] of some.entries()) {
      const record = records[i] as RequestRecord;
      counted[i] = { ...record, outputTokens: ids[k]?.length ?? 0, outputTokensBy: 'tokenizer' };
    }
  }
  return counted;
}
