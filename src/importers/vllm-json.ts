import { InputError, type Problem } from '../kit/errors.ts';
import { type ImportedFigures, type ImportedResult, nothingTold } from '../records/imported.ts';
import type { Importer, ImportFile } from './importer.ts';
import { type JsonValue, jsonValues } from './json-values.ts';
import { type Latencies, latencyKey } from './latency-row.ts';
import { jsonQuantity } from './quantity.ts';

const name = 'vllm-json';

/** Where the keys that tell a result stand: behind the options of the run, before any list of requests. */
const beginning = 65_536;

/** The file that `vllm bench serve --save-result` writes, with `--append-result` several objects in one. */
export const vllmJson: Importer = {
  name,
  description:
    'the file of vllm bench serve --save-result, also appended (--append-result) or detailed (--save-detailed)',
  recognises(text) {
    const head = text.slice(0, beginning);
    // SGLang's file has some of the same keys; its throughput of all tokens has another name.
    return (
      /^[\s[]*\{/.test(head) &&
      /"(?:completed|request_throughput)"\s*:/.test(head) &&
      !/"(?:total_throughput|input_throughput)"\s*:/.test(head)
    );
  },
  read(text, file) {
    const place = (line: number): string => `${file.path}:${line}`;
    const { values, problems: unreadable } = jsonValues(text, place);
    const problems: Problem[] = [...unreadable];
    const results = values.flatMap((value) => {
      if (isResult(value.value)) return [resultOf(value.value, value, file, problems)];
      problems.push({
        place: place(value.line),
        message: 'is no result of vllm bench serve: it has neither “completed” nor a throughput',
        hint: 'give the file that --save-result wrote',
      });
      return [];
    });
    if (results.length === 0 && problems.length === 0) {
      problems.push({
        place: file.path,
        message: 'holds no JSON object',
        hint: 'give the file that --save-result wrote',
      });
    }
    if (problems.length > 0) throw new InputError(problems);
    return results;
  },
};

type Fields = Readonly<Record<string, unknown>>;

const isResult = (value: unknown): value is Fields =>
  typeof value === 'object' &&
  value !== null &&
  ['completed', 'request_throughput', 'output_throughput', 'total_token_throughput'].some((key) => key in value);

/** `request_goodput:`, colon and all, was a slip of versions before July 2025. */
const figureKeys: Readonly<Record<string, keyof ImportedFigures>> = {
  completed: 'completed',
  failed: 'failed',
  duration: 'durationS',
  total_input_tokens: 'inputTokens',
  total_output_tokens: 'outputTokens',
  request_throughput: 'requestThroughput',
  request_goodput: 'requestGoodput',
  'request_goodput:': 'requestGoodput',
  output_throughput: 'outputThroughput',
  total_token_throughput: 'totalTokenThroughput',
  max_output_tokens_per_s: 'peakOutputThroughput',
  max_concurrent_requests: 'peakConcurrency',
};
const workloadKeys: Readonly<Record<string, 'numPrompts' | 'maxConcurrency'>> = {
  num_prompts: 'numPrompts',
  max_concurrency: 'maxConcurrency',
};
const textKeys = { label: 'label', model_id: 'model', backend: 'backend' } as const;
/** One entry a request. They are the file's to keep: figures are what is imported. */
const requestLists = new Set([
  'input_lens',
  'output_lens',
  'ttfts',
  'itls',
  'generated_texts',
  'errors',
  'start_times',
  'latencies',
  'queue_times',
]);
/** Characters of JSON that an unknown key may hold. */
const largestExtra = 65_536;

function resultOf(
  fields: Fields,
  { text, line, column }: JsonValue,
  file: ImportFile,
  problems: Problem[],
): ImportedResult {
  const figures = { ...nothingTold.figures };
  const workload = { ...nothingTold.workload };
  const texts: Record<'label' | 'model' | 'backend', string | null> = { label: null, model: null, backend: null };
  const latencies: Latencies = {};
  const extra: ImportedResult['extra'] = {};
  const remarks: string[] = [];
  const lists: string[] = [];

  const number = (key: string, exponent = 0): number | null => {
    const read = jsonQuantity(fields[key], exponent);
    if ('value' in read) return read.value;
    const hint = 'a number, or null where it was not measured';
    problems.push({ place: `${file.path}:${lineOfKey(text, line, key)}`, message: `${key}: ${read.wrong}`, hint });
    return null;
  };

  for (const [key, value] of Object.entries(fields)) {
    const figure = figureKeys[key];
    const fact = workloadKeys[key];
    const latency = latencyKey(key);
    if (figure !== undefined) figures[figure] ??= number(key);
    else if (fact !== undefined) workload[fact] = number(key);
    else if (key === 'request_rate') workload.requestRate = value === 'inf' ? 'inf' : number(key);
    else if (key in textKeys && (value === null || typeof value === 'string')) {
      texts[textKeys[key as keyof typeof textKeys]] = value;
    } else if (latency) latency.put(latencies, number(key, latency.exponent));
    else if (Array.isArray(value) && requestLists.has(key)) lists.push(key);
    else if (JSON.stringify(value).length <= largestExtra) extra[key] = value as ImportedResult['extra'][string];
    else remarks.push(`“${key}” is too large to be kept.`);
  }
  if (lists.length > 0) remarks.push(`The lists of its requests (${lists.join(', ')}) are left in the file.`);

  return {
    ...nothingTold,
    schema: 1,
    source: { file: file.name, line, column, sha256: file.sha256, format: name, version: versionOf(fields) },
    ...texts,
    workload,
    figures,
    latencies,
    extra,
    remarks,
  };
}

/** The line of a key within an object's text; the object's own where the key is not written plainly. */
function lineOfKey(text: string, firstLine: number, key: string): number {
  const at = text.indexOf(JSON.stringify(key));
  return at < 0 ? firstLine : firstLine + (text.slice(0, at).match(/\n/g)?.length ?? 0);
}

/** `rtfx` came in 2026, `failed` after v0.11.0, the peaks with it. */
function versionOf(fields: Fields): string {
  if ('rtfx' in fields) return 'vllm-2026-like';
  if ('failed' in fields) return 'vllm-0.12-like';
  if ('max_output_tokens_per_s' in fields) return 'vllm-0.11-like';
  return 'total_token_throughput' in fields ? 'vllm-before-0.11-like' : 'unknown';
}
