import { InputError, type Problem } from '../../kit/errors.ts';
import type { RequestRecord } from '../../records/request.ts';
import type { RunFacts } from '../run-facts.ts';
import { type Fields, fieldsOf } from './fields.ts';
import type { VllmKind } from './observe.ts';
import type { VllmOutput } from './output.ts';
import type { VllmVersion } from './version.ts';

/** What a saved result says besides its requests. Whatever it does not say is absent. */
export interface DetailedFacts {
  readonly run: Partial<RunFacts>;
  /** The release whose keys these are, as far as keys tell. */
  readonly version: VllmVersion;
  readonly kind: VllmKind;
  /** Seconds, by vLLM's clock: from before the first request until the last one had ended. */
  readonly durationS: number;
  /** Requests in the arrays, failed ones included. */
  readonly asked: number;
  /** Whether `start_times` was there; without it nothing relates the requests to one another. */
  readonly sendTimesKnown: boolean;
  /** What cannot be known from such a file, a sentence each. */
  readonly notes: readonly string[];
}

export interface DetailedResult {
  /** As far as the file tells: every message with a choice is a token-bearing event, as vLLM has it. */
  readonly records: readonly RequestRecord[];
  /** The same requests in vLLM's own terms, for `vllmResult`; nothing is lost on the way. */
  readonly outputs: readonly VllmOutput[];
  readonly facts: DetailedFacts;
}

/**
 * Reads the parsed JSON of `vllm bench serve --save-result --save-detailed`, of any release. Unknown keys are passed
 * over, text ones become metadata. Throws an InputError that names everything that is missing or out of shape; `place`
 * is what it calls the file.
 */
export function fromVllmDetailed(json: unknown, place = 'result'): DetailedResult {
  const problems: Problem[] = [];
  const fields = fieldsOf(json, place, problems);
  const durationS = fields.number('duration');
  const inputLens = fields.numbers('input_lens');
  const errors = fields.texts('errors');
  const hasTokens = fields.has('ttfts') || fields.has('itls') || !fields.has('latencies');
  const ttfts = hasTokens ? fields.numbers('ttfts') : undefined;
  const itls = hasTokens ? fields.lists('itls') : undefined;
  const outputLens = hasTokens ? fields.numbers('output_lens') : undefined;
  const texts = fields.has('generated_texts') ? fields.texts('generated_texts') : undefined;
  const starts = fields.has('start_times') ? fields.numbers('start_times') : undefined;
  const latencies = fields.has('latencies') ? fields.numbers('latencies') : undefined;
  const count = inputLens?.length ?? 0;
  const arrays = {
    errors,
    ttfts,
    itls,
    output_lens: outputLens,
    generated_texts: texts,
    start_times: starts,
    latencies,
  };
  for (const [key, array] of Object.entries(arrays)) {
    if (array === undefined || inputLens === undefined || array.length === count) continue;
    problems.push({ place: `${place} ${key}`, message: `has ${array.length} values where input_lens has ${count}` });
  }
  if (problems.length > 0) throw new InputError(problems);

  const run = runFactsOf(fields);
  const kind = hasTokens ? kindOf(run.backend) : 'pooling';
  const failed = failedOnes(fields.maybeNumber('completed'), errors ?? [], outputLens ?? [], ttfts ?? []);
  const firstS = (starts ?? []).reduce((least, start) => Math.min(least, start), Number.POSITIVE_INFINITY);
  const outputs = (inputLens ?? []).map((promptTokens, i): VllmOutput => {
    const success = !failed.has(i);
    const [ttftS, itlS] = [ttfts?.[i] ?? latencies?.[i] ?? 0, itls?.[i] ?? []];
    return {
      success,
      promptTokensByClient: promptTokens,
      promptTokens,
      outputTokens: success ? (outputLens?.[i] ?? 0) : 0,
      encodedTokens: 0,
      ttftS,
      itlS,
      startS: starts === undefined ? 0 : (starts[i] as number) - firstS,
      latencyS: success ? (latencies?.[i] ?? itlS.reduce((a, b) => a + b, ttftS)) : 0,
      generatedText: texts?.[i] ?? '',
      error: errors?.[i] ?? '',
    };
  });
  const facts: DetailedFacts = {
    run,
    version: versionOf(fields),
    kind,
    durationS: durationS ?? 0,
    asked: outputs.length,
    sendTimesKnown: starts !== undefined,
    notes: notesOf(kind, fields),
  };
  return { records: outputs.map((output, index) => recordOf(output, index, kind)), outputs, facts };
}

const notesOf = (kind: VllmKind, fields: Fields): readonly string[] => [
  ...(kind === 'chat'
    ? ['vLLM counts the chunks with the role and the finish reason as tokens, and its file does not tell them apart.']
    : []),
  ...(fields.has('start_times')
    ? []
    : ['The file has no start times: concurrency and peaks cannot be computed from it.']),
  ...(fields.has('latencies')
    ? []
    : ['The file has no latencies: each request is taken to end with its last chunk, before the usage.']),
];

function versionOf(fields: Fields): VllmVersion {
  if (fields.has('rtfx') || fields.has('start_times') || fields.has('latencies')) return 'vllm-2026-08';
  return fields.has('failed') ? 'vllm-0.11.1' : 'vllm-0.11.0';
}

const kindOf = (backend: string | undefined): VllmKind => (backend?.includes('chat') ? 'chat' : 'completions');

/**
 * Which requests failed: those with an error, and where the file says that fewer were completed, those without one that
 * got nothing (a status without a reason phrase leaves the error empty).
 */
function failedOnes(
  completed: number | undefined,
  errors: readonly string[],
  outputLens: readonly number[],
  ttfts: readonly number[],
): ReadonlySet<number> {
  const failed = new Set(errors.flatMap((error, i) => (error === '' ? [] : [i])));
  for (let i = 0; i < errors.length && completed !== undefined && errors.length - failed.size > completed; i++) {
    if ((outputLens[i] ?? 0) === 0 && (ttfts[i] ?? 0) === 0) failed.add(i);
  }
  return failed;
}

function recordOf(output: VllmOutput, index: number, kind: VllmKind): RequestRecord {
  const { startS: sendS, ttftS, itlS, latencyS, success, outputTokens, promptTokens, error, generatedText } = output;
  const tokenTimesS: number[] = [];
  if (kind !== 'pooling' && (ttftS > 0 || itlS.length > 0)) {
    tokenTimesS.push(sendS + ttftS);
    for (const gap of itlS) tokenTimesS.push((tokenTimesS.at(-1) as number) + gap);
  }
  const [first] = tokenTimesS;
  const last = kind === 'pooling' && success ? sendS + latencyS : tokenTimesS.at(-1);
  const endS = Math.max(sendS + latencyS, last ?? sendS);
  const silent = success && kind !== 'pooling' && tokenTimesS.length === 0;
  return {
    index,
    outcome: silent ? 'empty' : success ? 'ok' : tokenTimesS.length > 0 ? 'truncated' : 'connection_error',
    ...(success ? {} : { error: error === '' ? 'failed without a word' : error }),
    intendedSendS: sendS,
    sendS,
    ...(first === undefined ? {} : { firstEventS: first, firstTokenS: first, firstAnswerTokenS: first }),
    tokenTimesS,
    ...(last === undefined ? {} : { lastTokenS: last }),
    ...(success ? { lastEventS: endS } : {}),
    endS,
    promptTokens,
    outputTokensAsked: outputTokens,
    outputTokens,
    outputTokensBy: 'server',
    ...(generatedText === '' ? {} : { text: generatedText }),
    malformedEvents: 0,
  };
}

/** Keys of the configuration part that hold text. */
const known = new Set(
  'date endpoint_type backend label model_id tokenizer_id request_rate burstiness ramp_up_strategy'.split(' '),
);

function runFactsOf(fields: Fields): Partial<RunFacts> {
  const backend = fields.maybeText('backend') ?? fields.maybeText('endpoint_type');
  const metadata = fields.otherTexts(known);
  const facts = {
    date: fields.maybeText('date'),
    backend,
    label: fields.maybeText('label'),
    modelId: fields.maybeText('model_id'),
    tokenizerId: fields.maybeText('tokenizer_id'),
    numPrompts: fields.maybeNumber('num_prompts'),
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    requestRate: fields.maybeRate('request_rate'),
    burstiness: fields.maybeRate('burstiness'),
    maxConcurrency: fields.maybeNumber('max_concurrency'),
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}
