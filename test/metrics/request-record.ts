import type { RequestRecord } from '../../src/records/request.ts';

/** An ok request with an answer of one token an event, one every 20 ms from 100 ms after it was sent. */
export function record(changes: Partial<RequestRecord> & { tokens?: number; gapS?: number } = {}): RequestRecord {
  const { tokens = 5, gapS = 0.02, ...rest } = changes;
  const sendS = rest.sendS ?? 0;
  const tokenTimesS = rest.tokenTimesS ?? Array.from({ length: tokens }, (_, i) => sendS + 0.1 + i * gapS);
  const [first] = tokenTimesS;
  const last = tokenTimesS.at(-1);
  return {
    index: 0,
    outcome: 'ok',
    intendedSendS: sendS,
    sendS,
    ...(first === undefined ? {} : { firstEventS: first, firstTokenS: first, firstAnswerTokenS: first }),
    ...(last === undefined ? {} : { lastTokenS: last }),
    tokenTimesS,
    endS: (last ?? sendS) + 0.005,
    promptTokens: 64,
    outputTokensAsked: rest.outputTokens ?? tokenTimesS.length,
    outputTokens: tokenTimesS.length,
    outputTokensBy: 'server',
    malformedEvents: 0,
    ...rest,
  };
}

/** A request that never got an answer. */
export const failedRecord = (changes: Partial<RequestRecord> = {}): RequestRecord => ({
  index: 0,
  outcome: 'http_error',
  httpStatus: 400,
  intendedSendS: 0,
  sendS: 0,
  tokenTimesS: [],
  endS: 0.01,
  promptTokens: 64,
  outputTokensAsked: 5,
  outputTokens: 0,
  outputTokensBy: 'chunks',
  malformedEvents: 0,
  ...changes,
});

/** An ok request of an endpoint that generates nothing: 64 tokens in, the whole answer after 200 ms. */
export function embedding(changes: Partial<RequestRecord> = {}): RequestRecord {
  const sendS = changes.sendS ?? 0;
  const { firstTokenS: _, firstAnswerTokenS: __, ...rest } = record({ sendS, tokenTimesS: [] });
  const endS = sendS + 0.2;
  return { ...rest, firstEventS: endS, lastTokenS: endS, endS, outputTokensAsked: 0, outputTokens: 0, ...changes };
}

/**
 * A closed loop: `concurrency` places, each with `each` requests one after the other, a microsecond between them. The
 * places are out of step, as they are once the first answers have ended.
 */
export function closedLoop(
  concurrency: number,
  each: number,
  changes: Parameters<typeof record>[0] = {},
): RequestRecord[] {
  const { endS } = record(changes);
  return Array.from({ length: each * concurrency }, (_, index) => {
    const [round, place] = [Math.floor(index / concurrency), index % concurrency];
    return record({ ...changes, index, sendS: round * (endS + 1e-6) + (place * endS) / concurrency });
  });
}
