import { z } from 'zod';
import { exitCodes, InputError, type Problem } from '../kit/errors.ts';
import { writeFileAtomic } from '../kit/files.ts';
import { checkOpenFiles } from '../load/preflight.ts';
import type { LoadProgress } from '../load/progress.ts';
import { resultBlock } from '../metrics/result-block.ts';
import { metrics } from '../metrics/table.ts';
import { workloadOptions } from '../records/workload.ts';
import { findServer } from '../study/target.ts';
import { PromptPool, runWorkload, studyPercentiles } from '../study/workload.ts';
import { chooseTokenizer } from '../tokenizers/choose.ts';
import { defineCommand } from './command.ts';

const metricNames = metrics.map((m) => m.name);

const options = workloadOptions.extend({
  base_url: z.url().optional().describe('Address of the server; default: http://HOST:PORT'),
  host: z.string().default('127.0.0.1').describe('Host of the server'),
  port: z.int().min(1).max(65535).default(8000).describe('Port of the server'),
  endpoint: z.string().startsWith('/').optional().describe('Path of the request; default: that of --backend'),
  model: z.string().optional().describe('Model name to send; default: the first that the server names'),
  tokenizer: z
    .string()
    .optional()
    .describe('tokenizer.json, or a folder with one; default: the server’s own /tokenize, else an approximation'),
  header: z
    .array(z.string().regex(/^[^=\s]+=.*/, 'must be KEY=VALUE'))
    .default([])
    .describe('Headers of every request, as KEY=VALUE'),
  num_warmups: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe(
      'Requests before the measurement, counted in no figure; a load with min_duration_s has at least one wave',
    ),
  percentile_metrics: z
    .string()
    .default('ttft,tpot,itl')
    .describe(`Sections of the result block, separated by commas: ${metricNames.join(', ')}`),
  metric_percentiles: z.string().default('99').describe('Percentiles in each section, separated by commas'),
  records: z.string().optional().describe('File for what happened to each request, one JSON object a line'),
  result_json: z.string().optional().describe('File for the summary as JSON'),
});

export default defineCommand({
  name: 'bench serve',
  about: [
    'Sends a workload to any OpenAI-compatible server and prints a result block in the layout of `vllm bench serve`.',
    'A request counts only with at least one token and a terminal signal; input tokens are the server’s own count where',
    'it sends one. Ends with 3 when the numbers must not be believed (failures, output length not pinned, slow client).',
    'OPENAI_API_KEY in the environment is sent as a bearer token.',
  ].join('\n'),
  options,
  groups: [
    { title: 'Server', keys: ['base_url', 'host', 'port', 'backend', 'endpoint', 'model', 'tokenizer', 'header'] },
    {
      title: 'What is sent',
      keys: [
        'dataset_name',
        'random_input_len',
        'random_output_len',
        'random_range_ratio',
        'random_prefix_len',
        'num_prompts',
        'min_duration_s',
        'seed',
        'temperature',
        'ignore_eos',
      ],
    },
    { title: 'How it is sent', keys: ['request_rate', 'max_concurrency', 'num_warmups', 'request_timeout_s'] },
    { title: 'Results', keys: ['percentile_metrics', 'metric_percentiles', 'records', 'result_json'] },
  ],
  examples: [
    [
      'servetune bench serve --port 8000 --random-input-len 2000 --random-output-len 100 --num-prompts 500 --seed 42',
      '500 random prompts, all at once',
    ],
    [
      'servetune bench serve --base-url http://127.0.0.1:8000 --max-concurrency 64 --num-warmups 64',
      'at most 64 in flight',
    ],
  ],

  async run(given, terminal) {
    const { signal, environment } = terminal;
    const percentiles = numbersIn(given.metric_percentiles);
    const chosenMetrics = given.percentile_metrics.split(',').map((name) => name.trim());
    checkLists(percentiles, chosenMetrics);
    checkOpenFiles(given.max_concurrency ?? given.num_prompts);
    const baseUrl = new URL(given.base_url ?? `http://${given.host}:${given.port}`);
    const headers = headersOf(given.header, environment.OPENAI_API_KEY);
    const server = await findServer(baseUrl, given.model, headers, signal);
    const { tokenizer, note } = await chooseTokenizer({
      baseUrl,
      model: server.model,
      signal,
      ...(given.tokenizer === undefined ? {} : { path: given.tokenizer }),
    });
    for (const line of [...server.notes, ...(note === undefined ? [] : [note])]) terminal.note(line);

    const run = await runWorkload(
      { baseUrl, model: server.model, headers, ...(given.endpoint === undefined ? {} : { path: given.endpoint }) },
      {
        workload: given,
        pool: new PromptPool(given),
        tokenizer,
        warmups: given.num_warmups,
        percentiles: [...new Set([...studyPercentiles, ...percentiles])],
        signal,
        ...(given.records === undefined ? {} : { recordsPath: given.records }),
        onPhase: (phase, progress) => terminal.status(progress ? `${phase}  ${progressText(progress)}` : phase),
      },
    );
    terminal.status('');
    const { summary, client, problems } = run;
    terminal.print(
      resultBlock(summary, {
        maxConcurrency: given.max_concurrency,
        requestRate: given.request_rate === 'inf' ? undefined : given.request_rate,
        percentileMetrics: chosenMetrics,
        percentiles,
      }),
    );
    for (const warning of summary.warnings) terminal.note(`warning: ${warning}`);
    for (const { text, count } of summary.errors) terminal.note(`${count} x ${text}`);
    if (given.result_json !== undefined) {
      const { promptsHash } = run;
      const result = {
        model: server.model,
        workload: workloadOf(given),
        promptsSha256: promptsHash,
        summary,
        client,
        problems,
      };
      writeFileAtomic(given.result_json, `${JSON.stringify(result, null, 2)}\n`);
    }
    signal.throwIfAborted();
    for (const problem of problems) terminal.note(`invalid measurement: ${problem}`);
    return problems.length > 0 ? exitCodes.invalidMeasurement : exitCodes.done;
  },
});

/** What is being sent and received, as one line. */
const progressText = (p: LoadProgress): string =>
  [
    `${p.ok}${p.total === null ? '' : `/${p.total}`} done`,
    ...(p.failed > 0 ? [`${p.failed} failed`] : []),
    `${p.running} running`,
    `${Math.round(p.tokensPerS)} output tok/s`,
    `${p.elapsedS.toFixed(0)} s`,
  ].join(', ');

const numbersIn = (text: string): number[] => text.split(',').map((part) => Number(part.trim()));

function checkLists(percentiles: readonly number[], chosen: readonly string[]): void {
  const problems: Problem[] = [];
  if (percentiles.some((p) => !(p >= 0 && p <= 100))) {
    problems.push({
      place: '--metric-percentiles',
      message: 'must be numbers from 0 to 100',
      hint: 'for example 50,90,99',
    });
  }
  const unknown = chosen.filter((name) => !metricNames.includes(name));
  if (unknown.length > 0) {
    problems.push({
      place: '--percentile-metrics',
      message: `there is no metric ${unknown.join(', ')}`,
      hint: `metrics: ${metricNames.join(', ')}`,
    });
  }
  if (problems.length > 0) throw new InputError(problems);
}

function headersOf(given: readonly string[], apiKey: string | undefined): Record<string, string> {
  const entries = given.map((text): [string, string] => {
    const cut = text.indexOf('=');
    return [text.slice(0, cut), text.slice(cut + 1)];
  });
  return { ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}), ...Object.fromEntries(entries) };
}

const workloadOf = (given: z.infer<typeof options>): Record<string, unknown> =>
  Object.fromEntries(Object.keys(workloadOptions.shape).map((key) => [key, given[key as keyof typeof given]]));
