import { boundedText } from '../kit/bounded-text.ts';
import { ServetuneError } from '../kit/errors.ts';
import { pipelined } from './pipelined.ts';
import { baseVocabularySize } from './server-vocabulary.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Requests under way at once: enough to hide the network, too few to be a load. */
const inFlight = 8;
/** Longest that a question to the server may take while we find out what it is, seconds. */
const probeTimeoutS = 10;
/** Longest that it may take for one text later on, seconds: it may be at work on a load. */
const answerTimeoutS = 60;
/** Ids of a prompt of a million tokens, written out, and more. */
const longestAnswer = 32 << 20;

/** Sent with every question: a gateway may want a key. */
type Headers = Readonly<Record<string, string>>;

/** How one kind of server asks for ids and text: the bodies, and the key of the text in its answer. */
interface Dialect {
  readonly textKey: string;
  encodeBody(model: string, text: string, special: boolean): Record<string, unknown>;
}

/** The first that gives ids for a text is taken: each of these servers ignores, or refuses, the other's keys. */
const dialects: readonly Dialect[] = [
  {
    // vLLM
    textKey: 'prompt',
    encodeBody: (model, prompt, special) => ({ model, prompt, add_special_tokens: special }),
  },
  {
    // llama-server
    textKey: 'content',
    encodeBody: (_, content, special) => ({ content, add_special: special, parse_special: true }),
  },
];

/**
 * The tokenizer of a running server, by its `/tokenize` and `/detokenize`; null when it has none, or does not answer
 * within 10 s. `baseUrl` is the server's root, with or without a trailing `/v1`. Its calls throw a ServetuneError
 * `tokenizer_failed` when the server fails later on.
 */
export async function serverTokenizer(
  baseUrl: URL,
  model: string,
  signal?: AbortSignal,
  headers: Headers = {},
): Promise<Tokenizer | null> {
  const root = baseUrl.href.replace(/\/+$/, '').replace(/\/v1$/, '');
  const impatient = AbortSignal.any([AbortSignal.timeout(probeTimeoutS * 1000), ...(signal ? [signal] : [])]);
  try {
    for (const dialect of dialects) {
      const tokenizer = await probe(root, model, dialect, headers, impatient);
      if (tokenizer !== null) return tokenizer;
    }
  } catch {
    // A server that breaks off half-way through the questions is one without a tokenizer.
  }
  signal?.throwIfAborted();
  return null;
}

async function probe(
  root: string,
  model: string,
  dialect: Dialect,
  headers: Headers,
  signal: AbortSignal,
): Promise<Tokenizer | null> {
  const encodeOne = async (text: string, special: boolean, within?: AbortSignal): Promise<number[]> => {
    const { tokens } = await post(`${root}/tokenize`, dialect.encodeBody(model, text, special), headers, within);
    if (Array.isArray(tokens) && tokens.every((id) => Number.isInteger(id))) return tokens;
    throw failed(`${root}/tokenize answered without a list of ids`);
  };
  const decodeOne = async (ids: readonly number[], within?: AbortSignal): Promise<string> => {
    const { [dialect.textKey]: text } = await post(`${root}/detokenize`, { model, tokens: ids }, headers, within);
    if (typeof text === 'string') return text;
    throw failed(`${root}/detokenize answered without a text`);
  };

  const word = 'measure';
  const plain = await encodeOne(word, false, signal).catch(() => []);
  if (plain.length === 0 || !(await decodeOne(plain, signal)).endsWith(word)) return null;
  const special = await encodeOne(word, true, signal);
  const told = await vocabularySizeTold(root, headers, signal);
  const vocabSize = await baseVocabularySize(told, (id) => decodeOne([id], signal), signal);
  if (vocabSize === null) return null;

  return {
    name: `the server at ${root}`,
    fingerprint: null,
    chatTemplate: null,
    vocabSize,
    specialIds: [],
    specialTokenCount: special.length - plain.length,
    encode: (texts, within) =>
      pipelined(
        texts,
        inFlight,
        (text) => (text === '' ? Promise.resolve([]) : encodeOne(text, false, within)),
        within,
      ),
    decode: (ids, within) =>
      pipelined(ids, inFlight, (list) => (list.length === 0 ? Promise.resolve('') : decodeOne(list, within)), within),
  };
}

/** `n_vocab` of the first model, which llama-server tells and vLLM does not. */
async function vocabularySizeTold(root: string, headers: Headers, signal: AbortSignal): Promise<number | undefined> {
  const response = await fetch(`${root}/v1/models`, { headers, signal });
  if (!response.ok) return undefined;
  const { data } = JSON.parse(await boundedText(response, longestAnswer)) as {
    data?: { meta?: { n_vocab?: unknown } }[];
  };
  const size = data?.[0]?.meta?.n_vocab;
  return typeof size === 'number' && Number.isInteger(size) && size > 0 ? size : undefined;
}

/** Posts JSON and reads JSON; tries once more where the server had closed the kept-alive connection meanwhile. */
async function post(
  url: string,
  body: object,
  headers: Headers,
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  const late = AbortSignal.timeout(answerTimeoutS * 1000);
  const within = AbortSignal.any([late, ...(signal ? [signal] : [])]);
  const send = (): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: within,
    });
  let response: Response;
  let text: string;
  try {
    response = await send().catch((error: unknown) => {
      within.throwIfAborted();
      if (error instanceof TypeError) return send();
      throw error;
    });
    text = await boundedText(response, longestAnswer);
  } catch (error) {
    signal?.throwIfAborted();
    throw failed(`${url} ${late.aborted ? `gave no answer in ${answerTimeoutS} s` : 'could not be reached'}`, error);
  }
  if (!response.ok) throw failed(`${url} answered ${response.status}: ${text.slice(0, 200)}`);
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw failed(`${url} answered something other than JSON`, error);
  }
}

const failed = (message: string, cause?: unknown): ServetuneError =>
  new ServetuneError('tokenizer_failed', message, { hint: 'name a tokenizer.json with --tokenizer', cause });
