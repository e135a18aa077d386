import type { RecordList, RequestRecord } from '../../records/request.ts';
import type { Load, Outcome } from '../../simulator/simulate.ts';

/** One replica's part of a load, and what became of it. */
export interface SimulatedPart {
  /** Which request of the workload each of the load is. */
  readonly ids: Int32Array;
  readonly load: Load;
  readonly outcome: Outcome;
}

/** A request that its server refuses before it does any work. */
export interface Refused {
  readonly index: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly reason: string;
}

/**
 * Request records of a simulated load, in the order in which the requests end: as those of a measured one, but for what
 * the simulation knows nothing of (texts, empty events, what a chat template adds). Made anew each time that they are
 * gone through, so that they take no memory.
 */
export function simulatedRecords(parts: readonly SimulatedPart[], refused: readonly Refused[]): RecordList {
  const places = parts.flatMap(({ ids, outcome }, part) =>
    Array.from(ids, (_, id) => ({ part, id, endS: outcome.endS[id] as number })).filter(
      ({ endS }) => !Number.isNaN(endS),
    ),
  );
  places.sort((a, b) => a.endS - b.endS || a.part - b.part || a.id - b.id);
  const failed = [...refused, ...parts.flatMap(refusedIn)].sort((a, b) => a.index - b.index);
  return {
    length: failed.length + places.length,
    *[Symbol.iterator]() {
      for (const one of failed) yield refusalRecord(one);
      for (const { part, id } of places) yield answerRecord(parts[part] as SimulatedPart, id);
    },
  };
}

const refusedIn = ({ ids, load, outcome }: SimulatedPart): readonly Refused[] =>
  [...outcome.refusals].map(([id, reason]) => ({
    index: ids[id] as number,
    promptTokens: load.promptTokens[id] as number,
    outputTokens: load.outputTokens[id] as number,
    reason,
  }));

/** Records are exact to the microsecond. */
const micro = (timeS: number): number => Math.round(timeS * 1e6) / 1e6;

const refusalRecord = ({ index, promptTokens, outputTokens, reason }: Refused): RequestRecord => ({
  index,
  outcome: 'http_error',
  error: reason,
  httpStatus: 400,
  intendedSendS: 0,
  sendS: 0,
  tokenTimesS: [],
  endS: 0,
  promptTokens,
  outputTokensAsked: outputTokens,
  outputTokens: 0,
  outputTokensBy: 'server',
  malformedEvents: 0,
});

function answerRecord({ ids, load, outcome }: SimulatedPart, id: number): RequestRecord {
  const tokenTimesS: number[] = [];
  const tokenCounts: number[] = [];
  outcome.eachToken(id, (atS, tokens) => {
    tokenTimesS.push(micro(atS));
    tokenCounts.push(tokens);
  });
  const sendS = micro(outcome.sendS[id] as number);
  const firstS = tokenTimesS[0] as number;
  const lastS = tokenTimesS.at(-1) as number;
  const cachedTokens = load.cachedTokens?.[id];
  const promptTokens = load.promptTokens[id] as number;
  const outputTokens = load.outputTokens[id] as number;
  return {
    index: ids[id] as number,
    outcome: 'ok',
    httpStatus: 200,
    intendedSendS: sendS,
    sendS,
    firstEventS: firstS,
    firstTokenS: firstS,
    firstAnswerTokenS: firstS,
    tokenTimesS,
    ...(tokenCounts.some((tokens) => tokens !== 1) ? { tokenCounts } : {}),
    lastEventS: lastS,
    lastTokenS: lastS,
    endS: lastS,
    promptTokens,
    serverPromptTokens: promptTokens,
    ...(cachedTokens === undefined ? {} : { cachedTokens }),
    outputTokensAsked: outputTokens,
    outputTokens,
    outputTokensBy: 'server',
    finishReason: 'length',
    malformedEvents: 0,
  };
}
