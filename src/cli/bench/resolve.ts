import { randomBytes } from 'node:crypto';
import { InputError } from '../../kit/errors.ts';
import { type WorkloadOptions, workloadOptions } from '../../records/workload.ts';
import { benchProblems } from './conflicts.ts';
import { backendOf, defaultsOf, isPooling, metricsOf, pinsOutput } from './defaults.ts';
import { readGoodput, readHeaders, readMetadata, readMetrics, readPercentiles } from './entries.ts';
import { benchNotes, inputLengthKeys, outputLengthKeys } from './notes.ts';
import type { BenchOptions } from './options.ts';
import type { BenchPlan, RequestPlan, ResultPlan, ServerPlan } from './plan.ts';

/**
 * The options of `bench serve` checked against each other, with every default settled that depends on `--compat` or on
 * other options. `now` dates the result; `unique`, eight hexadecimal digits, tells the request ids of one run from those
 * of another. Throws one InputError with all problems.
 */
export function resolveBench(
  given: BenchOptions,
  now: Date,
  unique: string = randomBytes(4).toString('hex'),
): BenchPlan {
  const problems = benchProblems(given);
  if (problems.length > 0) throw new InputError(problems);
  return {
    compat: given.compat,
    date: dateOf(now),
    workload: workloadOf(given),
    warmups: given.num_warmups,
    server: serverOf(given),
    request: requestOf(given, unique),
    client: { workers: given.workers, preconnect: given.preconnect, allowBound: given.allow_client_bound },
    result: resultOf(given),
    notes: benchNotes(given),
  };
}

function workloadOf(given: BenchOptions): WorkloadOptions {
  const backend = backendOf(given);
  const wanted = Object.fromEntries(
    Object.keys(workloadOptions.shape).map((key) => [key, given[key as keyof BenchOptions]]),
  );
  for (const key of inputLengthKeys) wanted[key] = given.input_len ?? wanted[key];
  for (const key of outputLengthKeys) wanted[key] = given.output_len ?? wanted[key];
  // The schema of workloads has its own default, which is the one of studies.
  const { temperature: _, ...workload } = workloadOptions.parse({
    ...wanted,
    backend,
    ignore_eos: given.ignore_eos ?? pinsOutput(given),
  });
  const temperature = given.temperature ?? (isPooling(backend) ? undefined : defaultsOf(given.compat).temperature);
  return temperature === undefined ? workload : { ...workload, temperature };
}

function serverOf(given: BenchOptions): ServerPlan {
  const { host, port, base_url, endpoint, model, served_model_name } = given;
  const authority = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const sentModel = served_model_name ?? model;
  const tokenizer = given.skip_tokenizer_init ? null : given.tokenizer;
  return {
    baseUrl: new URL(base_url ?? `http://${authority}:${port}`),
    ...(endpoint === undefined ? {} : { path: endpoint }),
    headers: readHeaders(given.header).value,
    insecure: given.insecure,
    ...(model === undefined ? {} : { model }),
    ...(sentModel === undefined ? {} : { sentModel }),
    ...(tokenizer === undefined ? {} : { tokenizer }),
    readyCheckTimeoutS: given.ready_check_timeout_sec ?? defaultsOf(given.compat).readyCheckTimeoutS,
    profile: given.profile,
  };
}

function requestOf(given: BenchOptions, unique: string): RequestPlan {
  const { logprobs, extra_body, lora_modules, lora_assignment } = given;
  return {
    requestIdPrefix: given.request_id_prefix ?? defaultsOf(given.compat).requestIdPrefix(unique),
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(extra_body === undefined ? {} : { extraBody: extra_body }),
    ...(lora_modules === undefined ? {} : { lora: { modules: lora_modules, assignment: lora_assignment } }),
  };
}

function resultOf(given: BenchOptions): ResultPlan {
  const { text, known } = metricsOf(given);
  const { goodput, result_dir, result_filename, label, records, result_json } = given;
  return {
    percentileMetrics: readMetrics(text, known).value,
    percentiles: readPercentiles(given.metric_percentiles).value,
    ...(goodput === undefined ? {} : { goodputLimitsMs: readGoodput(goodput).value }),
    save: given.save_result || given.append_result,
    detailed: given.save_detailed,
    append: given.append_result,
    // As in vLLM, an empty text is none.
    ...(result_dir ? { dir: result_dir } : {}),
    ...(result_filename ? { filename: result_filename } : {}),
    ...(label === undefined ? {} : { label }),
    metadata: readMetadata(given.metadata).value,
    ...(records === undefined ? {} : { recordsPath: records }),
    ...(result_json === undefined ? {} : { summaryPath: result_json }),
    quiet: given.disable_tqdm,
  };
}

/** `YYYYMMDD-HHMMSS` in local time, as result files and their names have it. */
function dateOf(time: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${time.getFullYear()}${two(time.getMonth() + 1)}${two(time.getDate())}`;
  return `${day}-${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`;
}
