import { z } from 'zod';
import { datasetNames, datasetOptions } from '../../records/dataset-options.ts';
import { arrivalOptions, samplingOptions, workloadOptions } from '../../records/workload.ts';
import type { OptionGroup } from '../command.ts';
import { refused, schemasOf, withoutEffect } from './not-here.ts';
import { requestOptions } from './request-options.ts';
import { resultOptions } from './result-options.ts';
import { serverOptions } from './server-options.ts';

/** Options of the load as a whole that vLLM has only in part. */
const loadOptions = {
  num_warmups: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe(
      'Requests before the measurement, counted in no figure; a load with min_duration_s has at least one wave',
    ),
  min_duration_s: workloadOptions.shape.min_duration_s,
};

/** The load client itself. */
const clientOptions = {
  workers: z
    .union([z.literal('auto'), z.int().min(1).max(64)])
    .default('auto')
    .describe('Threads that send and read; auto takes one for each 25,000 tokens a second, and at most half the cores'),
  preconnect: z
    .boolean()
    .default(true)
    .describe('Open the connections before the clock starts where all requests are due at once'),
  allow_client_bound: z
    .boolean()
    .default(false)
    .describe(
      'Do not call a measurement invalid because this client was the bottleneck; the verdict stays in the result',
    ),
};

const compatOptions = {
  compat: workloadOptions.shape.compat.describe(
    'Whose prompts, request bodies, defaults, metrics, result block and exit code',
  ),
  endpoint_type: z.string().optional().describe('Old name of --backend'),
};

/** Follow the clock of a trace. */
const traceOptions = {
  self_timed: z
    .boolean()
    .optional()
    .describe('timed_trace: send each request at its time in the trace; default: on for timed_trace'),
};

/**
 * Every option of `vllm bench serve`, of v0.11.0 as of the newest version, and servetune's own. Names and defaults are
 * vLLM's; an option without a default here has one that depends on `--compat` or on other options, which
 * `resolveBench` settles.
 */
export const benchServeOptions = z.strictObject({
  ...serverOptions,
  ...datasetOptions,
  // Names that vLLM has and servetune has not are refused with a reason, so the schema takes any.
  dataset_name: z
    .string()
    .default('random')
    .describe(`Where the prompts come from; one of ${datasetNames.join(', ')}`),
  ...traceOptions,
  ...requestOptions,
  ...arrivalOptions,
  ...loadOptions,
  ...clientOptions,
  ...samplingOptions,
  temperature: samplingOptions.temperature.describe(
    'Sampling temperature; 0 is greedy; default: the server’s, and 0 as in vLLM 0.11.0 and 0.11.1',
  ),
  ...resultOptions,
  ...compatOptions,
  ...schemasOf(withoutEffect),
  ...schemasOf(refused),
});

export type BenchOptions = z.infer<typeof benchServeOptions>;

const keys = (options: Readonly<Record<string, unknown>>): string[] => Object.keys(options);

/** Options of one dataset alone have its name in front. */
const ofDataset = (name: string): string[] => keys(datasetOptions).filter((key) => key.startsWith(`${name}_`));

/** Options that concern one dataset and do not have its name in front. */
const further: Readonly<Record<string, readonly string[]>> = { hf: ['no_stream'], timed_trace: keys(traceOptions) };

const datasetGroups: readonly OptionGroup[] = datasetNames
  .map((name) => ({ title: `Dataset ${name}`, keys: [...new Set([...ofDataset(name), ...(further[name] ?? [])])] }))
  .filter((group) => group.keys.length > 0);

const generalDataset = keys(datasetOptions).filter((key) => !datasetGroups.some((group) => group.keys.includes(key)));

/** The headings of `servetune bench serve --help`. */
export const benchServeGroups: readonly OptionGroup[] = [
  { title: 'Server', keys: keys(serverOptions) },
  { title: 'Request', keys: keys(requestOptions) },
  { title: 'Dataset', keys: generalDataset },
  ...datasetGroups,
  { title: 'Arrivals', keys: [...keys(arrivalOptions), ...keys(loadOptions)] },
  { title: 'Client', keys: keys(clientOptions) },
  { title: 'Sampling', keys: keys(samplingOptions), about: 'What is left out is not sent: the server decides.' },
  { title: 'Results', keys: keys(resultOptions) },
  { title: 'Compatibility', keys: keys(compatOptions) },
  {
    title: 'Accepted without effect',
    about: 'Options of vLLM that cannot matter here.',
    keys: keys(withoutEffect),
  },
  {
    title: 'Not supported here',
    about: 'Options of vLLM that would change the load or the figures. Any value but the default is refused.',
    keys: keys(refused),
  },
];
