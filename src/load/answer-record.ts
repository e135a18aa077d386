import type { Outcome, RequestRecord } from '../records/request.ts';
import type { AskedTokens } from './shared-requests.ts';

/** What was heard of an answer so far. Times in seconds since the start of the load, to the microsecond. */
export interface Heard {
  readonly outcome: Outcome | undefined;
  readonly error: string | undefined;
  readonly httpStatus: number | undefined;
  readonly firstEventS: number | undefined;
  readonly firstAnswerTokenS: number | undefined;
  readonly lastEventS: number | undefined;
  readonly endS: number;
  readonly tokenTimesS: number[];
  /** Tokens of each event of `tokenTimesS`; undefined since one of them did not tell. */
  readonly tokenCounts: number[] | undefined;
  readonly emptyChoiceTimesS: number[];
  readonly serverPromptTokens: number | undefined;
  readonly cachedTokens: number | undefined;
  readonly serverOutputTokens: number | undefined;
  readonly finishReason: string | undefined;
  readonly malformedEvents: number;
  readonly malformedText: string | undefined;
}

/**
 * The output tokens as the server counted them: its total, else the sum of what its events said. A total of 0 beside
 * text that was seen is a field that nobody filled in.
 */
export function countedTokens({ tokenTimesS, tokenCounts, serverOutputTokens: total }: Heard): number | undefined {
  const events = tokenTimesS.length;
  if (total !== undefined && (total > 0 || events === 0)) return total;
  return events > 0 ? tokenCounts?.reduce((sum, tokens) => sum + tokens, 0) : undefined;
}

/** The record of a settled answer. Times in seconds since the start of the load, to the microsecond. */
export function recordOf(
  heard: Heard,
  of: {
    readonly asked: AskedTokens;
    readonly intendedSendS: number;
    readonly sendS: number;
    /** As `countedTokens` says. */
    readonly counted: number | undefined;
    readonly text: string | undefined;
    /** The dialect is one that generates tokens. */
    readonly generates: boolean;
  },
): RequestRecord {
  const { asked, counted, text } = of;
  const { error, httpStatus, firstEventS, firstAnswerTokenS, lastEventS, endS, tokenTimesS, emptyChoiceTimesS } = heard;
  const { serverPromptTokens, cachedTokens, finishReason, malformedEvents, malformedText } = heard;
  const [firstTokenS] = tokenTimesS;
  const lastTokenS = of.generates ? tokenTimesS.at(-1) : heard.outcome === 'ok' ? endS : undefined;
  const tokenCounts = tokenTimesS.length > 0 ? heard.tokenCounts : undefined;
  return {
    index: asked.index,
    outcome: heard.outcome ?? 'cancelled',
    ...(error === undefined ? {} : { error }),
    ...(httpStatus === undefined ? {} : { httpStatus }),
    intendedSendS: microseconds(of.intendedSendS),
    sendS: microseconds(of.sendS),
    ...(firstEventS === undefined ? {} : { firstEventS }),
    ...(firstTokenS === undefined ? {} : { firstTokenS }),
    ...(firstAnswerTokenS === undefined ? {} : { firstAnswerTokenS }),
    tokenTimesS,
    ...(tokenCounts === undefined ? {} : { tokenCounts }),
    ...(emptyChoiceTimesS.length === 0 ? {} : { emptyChoiceTimesS }),
    ...(lastEventS === undefined ? {} : { lastEventS }),
    ...(lastTokenS === undefined ? {} : { lastTokenS }),
    endS,
    promptTokens: asked.promptTokens,
    ...(serverPromptTokens === undefined ? {} : { serverPromptTokens }),
    ...(cachedTokens === undefined ? {} : { cachedTokens }),
    outputTokensAsked: asked.outputTokens,
    outputTokens: counted ?? tokenTimesS.length,
    outputTokensBy: counted === undefined ? 'chunks' : 'server',
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(text === undefined ? {} : { text }),
    malformedEvents,
    ...(malformedText === undefined ? {} : { malformedText }),
  };
}

/** Seconds to the microsecond. */
export const microseconds = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;
