import { z } from 'zod';
import { exitCodes, InputError } from '../kit/errors.ts';
import { resultBlock } from '../metrics/result-block.ts';
import { sanityProblems } from '../metrics/sanity.ts';
import { summarize } from '../metrics/summary.ts';
import { vllmBlock, vllmPreface } from '../metrics/vllm/block.ts';
import { observeAll, type VllmKind, vllmKind } from '../metrics/vllm/observe.ts';
import { vllmResult } from '../metrics/vllm/result.ts';
import { savedResult } from '../metrics/vllm/saved.ts';
import type { RecordList } from '../records/request.ts';
import { type Backend, backends } from '../records/workload.ts';
import { type KeptRecords, readRecords } from '../study/records-file.ts';
import { recount } from '../study/recount.ts';
import { studyPercentiles } from '../study/workload.ts';
import { chooseTokenizer } from '../tokenizers/choose.ts';
import { metricsOf } from './bench/defaults.ts';
import { readGoodput, readMetrics, readPercentiles } from './bench/entries.ts';
import { benchServeOptions } from './bench/options.ts';
import { defineCommand } from './command.ts';
import type { Terminal } from './terminal.ts';

const { compat, percentile_metrics, metric_percentiles, goodput, max_concurrency, request_rate } =
  benchServeOptions.shape;

const options = z.strictObject({
  records: z.string().min(1).describe('Records of an earlier run'),
  compat: compat.describe('By whose definitions, and in whose layout'),
  format: z.enum(['block', 'json']).default('block').describe('The result block, or everything as JSON'),
  backend: z
    .enum(backends)
    .optional()
    .describe(
      'Request dialect of the run; it decides what vLLM would have counted; default: what the file tells, else openai',
    ),
  tokenizer: z
    .string()
    .min(1)
    .optional()
    .describe('Counts the tokens of answers that the server did not count: tokenizer.json, a folder, a model'),
  num_prompts: z.int().min(0).optional().describe('Requests that the run called for; default: those in the file'),
  percentile_metrics,
  metric_percentiles,
  goodput,
  max_concurrency: max_concurrency.describe('The limit that the run had, for the block'),
  request_rate: request_rate.describe('The rate that the run had, for the block'),
});
type Given = z.infer<typeof options>;
/** With the backend settled. */
type Known = Given & { readonly backend: Backend };

export default defineCommand({
  name: 'summarize',
  about: [
    'Computes every figure again from the records of an earlier run: the JSONL that `bench serve --records` or a trial of a',
    'study left, or what `vllm bench serve --save-result --save-detailed` wrote. With --compat, as that version of vLLM',
    'would have. Ends with 3 when the numbers must not be believed.',
  ].join('\n'),
  positional: { key: 'records', label: 'RECORDS', optional: false },
  options,
  groups: [
    { title: 'Records', keys: ['backend', 'tokenizer', 'num_prompts'] },
    { title: 'Figures', keys: ['compat', 'percentile_metrics', 'metric_percentiles', 'goodput'] },
    { title: 'Output', keys: ['format', 'max_concurrency', 'request_rate'] },
  ],
  examples: [
    ['servetune summarize runs/quickstart/trials/001', 'the result block of a trial'],
    ['servetune summarize records.jsonl --compat vllm-0.11.0', 'the same requests as vLLM 0.11.0 would report them'],
    ['servetune summarize vllm-result.json --goodput ttft:500 tpot:40', 'what vLLM measured, by other limits'],
  ],

  async run(given, terminal) {
    const kept = await readRecords(given.records);
    const named = given.backend ?? backendOf(kept);
    const backend = named ?? 'openai';
    const lists = listsOf(given, backend);
    const records = await counted(kept, given, terminal);
    for (const note of kept.notes) terminal.note(note);
    if (given.compat === 'servetune') return ours(records, kept, { ...given, backend }, lists, terminal);
    if (named === undefined) {
      terminal.note('The records do not say to which --backend they belong: read as those of openai, the default.');
    }
    return asVllm(records, kept, { ...given, backend }, lists, terminal);
  },
});

/** The backend that the records belong to, as far as they tell: only answers to embeddings have no token and are ok. */
function backendOf({ records, vllm }: KeptRecords): Backend | undefined {
  if (vllm) return backends.find((name) => name === vllm.facts.run.backend) ?? kinds[vllm.facts.kind];
  const ok = records.filter(({ outcome }) => outcome === 'ok');
  const silent = ok.every(({ tokenTimesS, outputTokens }) => tokenTimesS.length === 0 && outputTokens === 0);
  return ok.length > 0 && silent ? 'openai-embeddings' : undefined;
}

/** A backend of each kind, where the file names one that is not here. */
const kinds: Readonly<Record<VllmKind, Backend>> = {
  chat: 'openai-chat',
  completions: 'openai',
  pooling: 'openai-embeddings',
};

/** The option texts that are lists. */
function listsOf(given: Given, backend: Backend) {
  const { text, known } = metricsOf({ ...given, backend });
  const names = readMetrics(text, known);
  const percentiles = readPercentiles(given.metric_percentiles);
  const limits = readGoodput(given.goodput ?? []);
  const problems = [...names.problems, ...percentiles.problems, ...limits.problems];
  if (problems.length > 0) throw new InputError(problems);
  return {
    percentileMetrics: names.value,
    percentiles: percentiles.value,
    ...(given.goodput === undefined ? {} : { goodput: limits.value }),
  };
}
type Lists = ReturnType<typeof listsOf>;

async function counted(kept: KeptRecords, given: Given, terminal: Terminal): Promise<RecordList> {
  if (given.tokenizer === undefined) return kept.records;
  const { environment: env, signal } = terminal;
  const { tokenizer } = await chooseTokenizer({ path: given.tokenizer, model: given.tokenizer, env, signal });
  try {
    return await recount(kept.records, tokenizer, signal);
  } finally {
    await tokenizer.close?.();
  }
}

/** What the run was told, for the block and the file. */
function told({ max_concurrency: limit, request_rate: rate }: Given, kept: KeptRecords) {
  const run = kept.vllm?.facts.run;
  const number = rate === 'inf' ? (run?.requestRate ?? Number.POSITIVE_INFINITY) : rate;
  return { maxConcurrency: limit ?? run?.maxConcurrency ?? null, requestRate: number };
}

function ours(
  records: RecordList,
  kept: KeptRecords,
  given: Known,
  { percentileMetrics, percentiles, goodput: limits }: Lists,
  terminal: Terminal,
) {
  const summary = summarize(records, {
    asked: given.num_prompts ?? records.length,
    percentiles: [...new Set([...studyPercentiles, ...percentiles])],
    ...(limits === undefined ? {} : { goodput: limits }),
    ...told(given, kept),
    generates: vllmKind(given.backend) !== 'pooling',
    ...(kept.vllm === undefined
      ? {}
      : { durationS: kept.vllm.facts.durationS, sendTimesKnown: kept.vllm.facts.sendTimesKnown }),
  });
  // Whether the length was pinned is known to nobody any more.
  const problems = sanityProblems(summary, { pinnedOutput: false });
  const { maxConcurrency, requestRate } = told(given, kept);
  const simulated = kept.simulated ? { simulated: true } : {};
  if (given.format === 'json')
    terminal.print(JSON.stringify({ ...simulated, summary, problems, notes: kept.notes }, null, 2));
  else {
    const limit = maxConcurrency ?? undefined;
    terminal.print(
      resultBlock(summary, { ...simulated, maxConcurrency: limit, requestRate, percentileMetrics, percentiles }),
    );
  }
  for (const warning of summary.warnings) terminal.note(`warning: ${warning}`);
  for (const { text, count } of summary.errors) terminal.note(`${count} x ${text}`);
  for (const problem of problems) terminal.note(`invalid measurement: ${problem}`);
  return problems.length > 0 ? exitCodes.invalidMeasurement : exitCodes.done;
}

function asVllm(list: RecordList, kept: KeptRecords, given: Known, lists: Lists, terminal: Terminal) {
  const { compat: version } = given;
  if (version === 'servetune') throw new Error('servetune is no version of vLLM');
  const kind = vllmKind(given.backend);
  const records = [...list];
  const result = vllmResult(kept.vllm?.outputs ?? observeAll(records, { kind, version }), {
    version,
    durationS: kept.vllm?.facts.durationS ?? records.reduce((last, { endS }) => Math.max(last, endS), 0),
    percentileMetrics: lists.percentileMetrics,
    percentiles: lists.percentiles,
    goodput: lists.goodput,
    pooling: kind === 'pooling',
  });
  const known = told(given, kept);
  if (given.format === 'json') {
    const run = {
      date: '',
      backend: given.backend,
      label: null,
      modelId: '',
      tokenizerId: null,
      numPrompts: given.num_prompts ?? records.length,
      burstiness: 1,
      ...kept.vllm?.facts.run,
      ...known,
    };
    terminal.print(JSON.stringify(savedResult(result, { run, detailed: false }), null, 2));
  } else {
    for (const line of vllmPreface(result)) terminal.print(line);
    terminal.print(vllmBlock(result, known));
  }
  return exitCodes.done;
}
