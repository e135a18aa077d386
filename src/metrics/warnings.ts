import type { RequestRecord } from '../records/request.ts';
import { timedFirstToken } from './event-tokens.ts';
import { tpot } from './tpot.ts';

/** Largest relative difference of the output length from the asked one that still counts as pinned. */
export const pinnedWithin = 0.01;
/** Shorter than any network, kernel and parser allow between two separate reads; such events came in one piece. */
export const togetherWithinS = 10e-6;

/** Share of gaps of no length from which on the stream is called buffered. */
const bufferedFrom = 0.1;
/** Tokens an event from which on ITL is called a time between events. */
const severalTokensFrom = 1.05;
/** Relative difference of the two counts of prompt tokens that is worth a word. */
const promptsDifferFrom = 0.05;
/** Share of the prompt tokens that came from a cache, above which it was not the work that was asked for. */
const cachedFrom = 0.05;

/** What a reader of the summary of these records must know besides its numbers, each a sentence. */
export const warningsOf = (records: readonly RequestRecord[]): readonly string[] => {
  const ok = records.filter(({ outcome }) => outcome === 'ok');
  return [
    outputLength(ok),
    usageWithoutTokens(records),
    severalTokens(ok),
    buffered(ok),
    implausible(ok),
    whole(ok),
    promptLength(ok),
    cached(ok),
    countedHere(ok),
    malformed(records),
  ].filter((warning) => warning !== undefined);
};

const sum = (records: readonly RequestRecord[], of: (record: RequestRecord) => number): number =>
  records.reduce((total, record) => total + of(record), 0);

const signedPercent = (ratio: number): string => `${ratio < 0 ? '' : '+'}${(ratio * 100).toFixed(1)} %`;
const requests = (n: number): string => (n === 1 ? '1 request' : `${n} requests`);

function outputLength(ok: readonly RequestRecord[]): string | undefined {
  const asked = sum(ok, ({ outputTokensAsked }) => outputTokensAsked);
  const got = sum(ok, ({ outputTokens }) => outputTokens);
  if (asked === 0 || Math.abs(got - asked) <= pinnedWithin * asked) return undefined;
  return `${got} output tokens came where ${asked} were asked for (${signedPercent(got / asked - 1)}): the output length was not pinned, so this is not the same work as another run’s.`;
}

function usageWithoutTokens(records: readonly RequestRecord[]): string | undefined {
  const mute = records.filter((r) => r.outputTokensBy === 'server' && r.outputTokens > 0 && r.tokenTimesS.length === 0);
  if (mute.length === 0) return undefined;
  return `The server counted output tokens for ${requests(mute.length)} in whose stream no token was recognised: their latencies are unknown, and this client may not know the server’s dialect.`;
}

function severalTokens(ok: readonly RequestRecord[]): string | undefined {
  // Of an answer that came whole another warning tells.
  const streamed = ok.filter(({ tokenTimesS }) => tokenTimesS.length > 1);
  const events = sum(streamed, ({ tokenTimesS }) => tokenTimesS.length);
  const perEvent = sum(streamed, ({ outputTokens }) => outputTokens) / events;
  if (!(perEvent >= severalTokensFrom)) return undefined;
  return `An event carried ${perEvent.toFixed(2)} tokens on average: ITL is the time between events, TPOT the time per token.`;
}

function buffered(ok: readonly RequestRecord[]): string | undefined {
  let gaps = 0;
  let together = 0;
  let events = 0;
  for (const { tokenTimesS } of ok) {
    if (tokenTimesS.length > 1) events += tokenTimesS.length;
    for (let i = 1; i < tokenTimesS.length; i++) {
      gaps++;
      if ((tokenTimesS[i] as number) - (tokenTimesS[i - 1] as number) <= togetherWithinS) together++;
    }
  }
  if (gaps === 0 || together / gaps < bufferedFrom) return undefined;
  const perRead = (events / (events - together)).toFixed(1);
  return `${((together / gaps) * 100).toFixed(0)} % of the gaps between events are zero: buffered upstream. The engine, or something on the way, sends several events together, ${perRead} at a time on average, so ITL is not the time between tokens.`;
}

/** Flagged, never removed: whoever drops samples drops the ones that tell of a fault. */
function implausible(ok: readonly RequestRecord[]): string | undefined {
  const samples = ok.flatMap((record) => tpot.of(record)).filter((sampleS) => sampleS <= togetherWithinS);
  if (samples.length === 0) return undefined;
  const fastest = samples.reduce((least, sampleS) => (sampleS > 0 && sampleS < least ? sampleS : least), 1);
  const speed = fastest < 1 ? ` (one at ${Math.round(1 / fastest)} tokens a second)` : '';
  return `The tokens of ${requests(samples.length)} came all together${speed}: their TPOT and ITL say nothing of the engine, but are in the figures.`;
}

function whole(ok: readonly RequestRecord[]): string | undefined {
  const unstreamed = ok.filter((record) => record.tokenTimesS.length > 0 && !timedFirstToken(record)).length;
  if (unstreamed === 0) return undefined;
  return `The answers of ${requests(unstreamed)} came whole, in one event (the server does not stream, or something on the way collects): they have no TTFT, TPOT and ITL.`;
}

function promptLength(ok: readonly RequestRecord[]): string | undefined {
  const told = ok.filter(({ serverPromptTokens }) => serverPromptTokens !== undefined);
  const server = sum(told, ({ serverPromptTokens }) => serverPromptTokens ?? 0);
  const client = sum(told, ({ promptTokens }) => promptTokens);
  if (told.length === 0 || Math.abs(server - client) <= promptsDifferFrom * client) return undefined;
  const each = (total: number): string => String(Number((total / told.length).toFixed(1)));
  return `The server counted ${each(server)} prompt tokens a request, this client ${each(client)} (a chat template, or another tokenizer): the server’s figures are reported.`;
}

/** vLLM leaves the count out where it is 0, so a request that does not tell of one counts for 0 beside others that do. */
function cached(ok: readonly RequestRecord[]): string | undefined {
  const hits = sum(ok, ({ cachedTokens = 0 }) => cachedTokens);
  const all = sum(ok, ({ serverPromptTokens, promptTokens }) => serverPromptTokens ?? promptTokens);
  if (hits <= cachedFrom * all) return undefined;
  return `The server took ${hits} of ${all} prompt tokens (${((hits / all) * 100).toFixed(1)} %) from its cache of earlier prompts: it had less to compute than prompts that it sees for the first time. Reset its cache, start it anew, or take another seed.`;
}

function countedHere(ok: readonly RequestRecord[]): string | undefined {
  const byChunks = ok.filter(({ outputTokensBy }) => outputTokensBy === 'chunks').length;
  const byTokenizer = ok.filter(({ outputTokensBy }) => outputTokensBy === 'tokenizer').length;
  if (byChunks === 0 && byTokenizer === 0) return undefined;
  const how = [
    ...(byTokenizer > 0 ? [`for ${requests(byTokenizer)} by encoding the answer`] : []),
    ...(byChunks > 0 ? [`for ${requests(byChunks)} as one an event`] : []),
  ];
  return `The server sent no usage, so output tokens were counted by this client, ${how.join(' and ')}.`;
}

function malformed(records: readonly RequestRecord[]): string | undefined {
  const lines = sum(records, ({ malformedEvents }) => malformedEvents);
  if (lines === 0) return undefined;
  const hit = records.filter(({ malformedEvents }) => malformedEvents > 0).length;
  const text = records.find(({ malformedText }) => malformedText !== undefined)?.malformedText;
  const first = text === undefined ? '' : ` (${lines === 1 ? '' : 'the first: '}${JSON.stringify(text)})`;
  return `Malformed events: ${lines}, in ${requests(hit)}${first}. They could not be parsed and were passed over.`;
}
