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
