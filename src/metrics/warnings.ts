import type { RecordList } from '../records/request.ts';
import { timedFirstToken } from './event-tokens.ts';
import { type Fold, fold, ofOk } from './fold.ts';
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
export const warningsOf = (records: RecordList): readonly string[] => fold(records, warningsFold());

export function warningsFold(): Fold<readonly string[]> {
  const warnings = [
    ofOk(outputLength()),
    usageWithoutTokens(),
    ofOk(severalTokens()),
    ofOk(buffered()),
    ofOk(implausible()),
    ofOk(whole()),
    ofOk(promptLength()),
    ofOk(cached()),
    ofOk(countedHere()),
    malformed(),
  ];
  return {
    add(record) {
      for (const warning of warnings) warning.add(record);
    },
    result: () => warnings.map((warning) => warning.result()).filter((text) => text !== undefined),
  };
}

type Warning = Fold<string | undefined>;

const signedPercent = (ratio: number): string => `${ratio < 0 ? '' : '+'}${(ratio * 100).toFixed(1)} %`;
const requests = (n: number): string => (n === 1 ? '1 request' : `${n} requests`);

function outputLength(): Warning {
  let [asked, got] = [0, 0];
  return {
    add({ outputTokensAsked, outputTokens }) {
      asked += outputTokensAsked;
      got += outputTokens;
    },
    result() {
      if (asked === 0 || Math.abs(got - asked) <= pinnedWithin * asked) return undefined;
      return `${got} output tokens came where ${asked} were asked for (${signedPercent(got / asked - 1)}): the output length was not pinned, so this is not the same work as another run’s.`;
    },
  };
}

function usageWithoutTokens(): Warning {
  let mute = 0;
  return {
    add({ outputTokensBy, outputTokens, tokenTimesS }) {
      if (outputTokensBy === 'server' && outputTokens > 0 && tokenTimesS.length === 0) mute++;
    },
    result() {
      if (mute === 0) return undefined;
      return `The server counted output tokens for ${requests(mute)} in whose stream no token was recognised: their latencies are unknown, and this client may not know the server’s dialect.`;
    },
  };
}

function severalTokens(): Warning {
  let [tokens, events] = [0, 0];
  return {
    add({ tokenTimesS, outputTokens }) {
      // Of an answer that came whole another warning tells.
      if (tokenTimesS.length < 2) return;
      events += tokenTimesS.length;
      tokens += outputTokens;
    },
    result() {
      const perEvent = tokens / events;
      if (!(perEvent >= severalTokensFrom)) return undefined;
      return `An event carried ${perEvent.toFixed(2)} tokens on average: ITL is the time between events, TPOT the time per token.`;
    },
  };
}

function buffered(): Warning {
  let [gaps, together, events] = [0, 0, 0];
  return {
    add({ tokenTimesS }) {
      if (tokenTimesS.length > 1) events += tokenTimesS.length;
      for (let i = 1; i < tokenTimesS.length; i++) {
        gaps++;
        if ((tokenTimesS[i] as number) - (tokenTimesS[i - 1] as number) <= togetherWithinS) together++;
      }
    },
    result() {
      if (gaps === 0 || together / gaps < bufferedFrom) return undefined;
      const perRead = (events / (events - together)).toFixed(1);
      return `${((together / gaps) * 100).toFixed(0)} % of the gaps between events are zero: buffered upstream. The engine, or something on the way, sends several events together, ${perRead} at a time on average, so ITL is not the time between tokens.`;
    },
  };
}

/** Flagged, never removed: whoever drops samples drops the ones that tell of a fault. */
function implausible(): Warning {
  let count = 0;
  let fastestS = 1;
  return {
    add(record) {
      for (const sampleS of tpot.of(record)) {
        if (sampleS > togetherWithinS) continue;
        count++;
        if (sampleS > 0 && sampleS < fastestS) fastestS = sampleS;
      }
    },
    result() {
      if (count === 0) return undefined;
      const speed = fastestS < 1 ? ` (one at ${Math.round(1 / fastestS)} tokens a second)` : '';
      return `The tokens of ${requests(count)} came all together${speed}: their TPOT and ITL say nothing of the engine, but are in the figures.`;
    },
  };
}

function whole(): Warning {
  let unstreamed = 0;
  return {
    add(record) {
      if (record.tokenTimesS.length > 0 && !timedFirstToken(record)) unstreamed++;
    },
    result() {
      if (unstreamed === 0) return undefined;
      return `The answers of ${requests(unstreamed)} came whole, in one event (the server does not stream, or something on the way collects): they have no TTFT, TPOT and ITL.`;
    },
  };
}

function promptLength(): Warning {
  let [told, server, client] = [0, 0, 0];
  return {
    add({ serverPromptTokens, promptTokens }) {
      if (serverPromptTokens === undefined) return;
      told++;
      server += serverPromptTokens;
      client += promptTokens;
    },
    result() {
      if (told === 0 || Math.abs(server - client) <= promptsDifferFrom * client) return undefined;
      const each = (total: number): string => String(Number((total / told).toFixed(1)));
      return `The server counted ${each(server)} prompt tokens a request, this client ${each(client)} (a chat template, or another tokenizer): the server’s figures are reported.`;
    },
  };
}

/** vLLM leaves the count out where it is 0, so a request that does not tell of one counts for 0 beside others that do. */
function cached(): Warning {
  let [hits, all] = [0, 0];
  return {
    add({ cachedTokens = 0, serverPromptTokens, promptTokens }) {
      hits += cachedTokens;
      all += serverPromptTokens ?? promptTokens;
    },
    result() {
      if (hits <= cachedFrom * all) return undefined;
      return `The server took ${hits} of ${all} prompt tokens (${((hits / all) * 100).toFixed(1)} %) from its cache of earlier prompts: it had less to compute than prompts that it sees for the first time. Reset its cache, start it anew, or take another seed.`;
    },
  };
}

function countedHere(): Warning {
  let [byChunks, byTokenizer] = [0, 0];
  return {
    add({ outputTokensBy }) {
      if (outputTokensBy === 'chunks') byChunks++;
      if (outputTokensBy === 'tokenizer') byTokenizer++;
    },
    result() {
      if (byChunks === 0 && byTokenizer === 0) return undefined;
      const how = [
        ...(byTokenizer > 0 ? [`for ${requests(byTokenizer)} by encoding the answer`] : []),
        ...(byChunks > 0 ? [`for ${requests(byChunks)} as one an event`] : []),
      ];
      return `The server sent no usage, so output tokens were counted by this client, ${how.join(' and ')}.`;
    },
  };
}

function malformed(): Warning {
  let [lines, hit] = [0, 0];
  let text: string | undefined;
  return {
    add({ malformedEvents, malformedText }) {
      lines += malformedEvents;
      if (malformedEvents > 0) hit++;
      text ??= malformedText;
    },
    result() {
      if (lines === 0) return undefined;
      const first = text === undefined ? '' : ` (${lines === 1 ? '' : 'the first: '}${JSON.stringify(text)})`;
      return `Malformed events: ${lines}, in ${requests(hit)}${first}. They could not be parsed and were passed over.`;
    },
  };
}
