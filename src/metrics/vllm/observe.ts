import { STATUS_CODES } from 'node:http';
import type { RequestRecord } from '../../records/request.ts';
import type { Backend } from '../../records/workload.ts';
import type { VllmOutput } from './output.ts';
import { type VllmVersion, vllmTraits } from './version.ts';

/** The three ways in which vLLM's client reads an answer. */
export type VllmKind = 'chat' | 'completions' | 'pooling';

/** How vLLM's client would read the answers of a backend. Those that it does not know stream like completions. */
export function vllmKind(backend: Backend): VllmKind {
  if (backend === 'openai-embeddings') return 'pooling';
  return backend === 'openai-chat' || backend === 'vllm-chat' ? 'chat' : 'completions';
}

const noChunk = 'Never received a valid chunk to calculate TTFT.This response will be marked as failed!';

/**
 * What vLLM's client would have recorded of this request.
 *
 * - Every message with a choice counts as a token: those with the role and with the finish reason too. The first one
 *   gives TTFT, the gaps between them ITL.
 * - E2EL of a chat reaches to its last message before `[DONE]`, the one with the usage included; of a completion to its
 *   last message with a choice; of an embedding to the end of the body.
 * - A chat succeeds when the status is 200, every message is JSON and the body ends cleanly, even without any token,
 *   without `[DONE]`, or with an error inside. A completion needs one message with a choice besides.
 *
 * `startS` counts from the start of the load, like the record; only differences matter to vLLM.
 */
export function observe(
  record: RequestRecord,
  { kind, version }: { readonly kind: VllmKind; readonly version: VllmVersion },
): VllmOutput {
  const { sendS, serverPromptTokens, promptTokens, outputTokens } = record;
  const byServer = record.outputTokensBy === 'server';
  const output = {
    promptTokensByClient: promptTokens,
    promptTokens: vllmTraits[version].promptTokensBy === 'server' ? (serverPromptTokens ?? promptTokens) : promptTokens,
    outputTokens: byServer ? outputTokens : 0,
    ...(byServer ? {} : { encodedTokens: outputTokens }),
    startS: sendS,
    generatedText: '',
    error: '',
  };
  const problem = failure(record);

  if (kind === 'pooling') {
    const latencyS = problem === undefined ? (record.lastTokenS ?? record.endS) - sendS : 0;
    const none = { success: problem === undefined, ttftS: latencyS, itlS: [], latencyS, error: problem ?? '' };
    return { ...output, ...none, promptTokens: problem === undefined ? (serverPromptTokens ?? 0) : 0 };
  }

  const times = choiceTimes(record);
  const [first] = times;
  const last = times.at(-1);
  const timing = {
    ttftS: first === undefined ? 0 : first - sendS,
    itlS: times.slice(1).map((time, i) => time - (times[i] as number)),
  };
  if (problem !== undefined) {
    return { ...output, ...timing, success: false, latencyS: 0, error: problem };
  }
  if (kind === 'completions' && last === undefined) {
    return { ...output, ...timing, success: false, latencyS: 0, error: noChunk };
  }
  const endS = (kind === 'chat' ? record.lastEventS : undefined) ?? last ?? sendS;
  return { ...output, ...timing, success: true, latencyS: endS - sendS, generatedText: record.text ?? '' };
}

/** All requests that were sent, in the order of the workload, which is the order of vLLM's arrays. */
export const observeAll = (
  records: readonly RequestRecord[],
  how: { readonly kind: VllmKind; readonly version: VllmVersion },
): readonly VllmOutput[] => [...records].sort((a, b) => a.index - b.index).map((record) => observe(record, how));

/** When each message with a choice came. */
function choiceTimes({ tokenTimesS, emptyChoiceTimesS = [] }: RequestRecord): readonly number[] {
  return emptyChoiceTimesS.length === 0 ? tokenTimesS : [...tokenTimesS, ...emptyChoiceTimesS].sort((a, b) => a - b);
}

/** Why vLLM's client would call it failed, in words as near to its own as we have them; undefined where it would not. */
function failure({ outcome, error, httpStatus, malformedEvents }: RequestRecord): string | undefined {
  if (outcome === 'http_error') return (httpStatus !== undefined && STATUS_CODES[httpStatus]) || '';
  const told = error ?? outcome;
  // It parses every message, and an exception fails the request.
  if (malformedEvents > 0) return outcome === 'ok' ? 'a message of the stream is not JSON' : told;
  if (outcome === 'ok' || outcome === 'empty' || outcome === 'in_band_error') return undefined;
  return outcome === 'truncated' && endedCleanly.test(told) ? undefined : told;
}

/** The words of the record for a body that ended as it should, only too early. */
const endedCleanly = /^the body ended/;
