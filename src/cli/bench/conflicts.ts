import { unsupported } from '../../endpoints/sampling.ts';
import { endpoints } from '../../endpoints/table.ts';
import { closest } from '../../kit/closest.ts';
import type { Problem } from '../../kit/errors.ts';
import { datasetNames } from '../../records/dataset-options.ts';
import { backends, type Sampling, samplingOptions } from '../../records/workload.ts';
import { defaultOf, flagName } from '../flags.ts';
import { backendOf, isChat, isOpenAi, metricsOf, pinsOutput } from './defaults.ts';
import { readGoodput, readHeaders, readMetadata, readMetrics, readPercentiles } from './entries.ts';
import { refused, refusedValues } from './not-here.ts';
import type { BenchOptions } from './options.ts';

type Key = keyof BenchOptions;

/** One thing that can be wrong with options that are each fine. */
interface Rule {
  /** What it looks at; it is left out where one of them could not be read. */
  readonly of: readonly Key[];
  /** vLLM runs such a line, so in its modes the problem is a note. */
  readonly soft?: boolean;
  find(given: BenchOptions): readonly Problem[];
}

const problem = (place: string, message: string, hint: string): readonly Problem[] => [{ place, message, hint }];
const none: readonly Problem[] = [];

const samplingKeys = Object.keys(samplingOptions) as (keyof Sampling)[];

/** Datasets that nothing can be drawn for without a tokenizer. */
const needTokenizer: readonly string[] = ['random', 'prefix_repetition', 'sonnet', 'burstgpt', 'timed_trace'];
/** Datasets that are made up, not read. */
const madeUp: readonly string[] = ['random', 'prefix_repetition'];
/** Datasets that are always a file of the user's. */
const fromFile: readonly string[] = ['custom', 'burstgpt', 'hf', 'timed_trace'];

const rules: readonly Rule[] = [
  choice('backend', backends),
  choice('endpoint_type', backends),
  choice('dataset_name', datasetNames),
  choice('tokenizer_mode', ['auto', 'hf', 'slow']),
  ...Object.keys(refused).map((key) => refusal(key as keyof typeof refused)),
  {
    of: ['backend', 'endpoint_type'],
    find: ({ backend, endpoint_type }) =>
      endpoint_type !== undefined && backend !== 'openai' && backend !== endpoint_type
        ? problem('--endpoint-type', `says ${endpoint_type}, and --backend says ${backend}`, 'give --backend alone')
        : none,
  },
  {
    of: ['backend', 'endpoint_type', 'endpoint'],
    find(given) {
      const path = given.endpoint?.replace(/[?#].*$/, '');
      const backend = backendOf(given);
      if (path === undefined || !isOpenAi(backend) || !path.endsWith('completions')) return none;
      if (path.endsWith('chat/completions') === isChat(backend)) return none;
      const fitting = isChat(backend) ? 'openai' : 'openai-chat';
      return problem(
        '--endpoint',
        `${given.endpoint} does not understand what --backend ${backend} sends`,
        `use --backend ${fitting}, or leave --endpoint out`,
      );
    },
  },
  {
    of: ['ramp_up_strategy', 'request_rate'],
    find: ({ ramp_up_strategy, request_rate }) =>
      ramp_up_strategy !== undefined && request_rate !== 'inf'
        ? problem('--request-rate', 'contradicts --ramp-up-strategy, which sets the rate', 'give one of the two')
        : none,
  },
  {
    of: ['ramp_up_strategy', 'ramp_up_start_rps', 'ramp_up_end_rps'],
    find({ ramp_up_strategy, ramp_up_start_rps: start, ramp_up_end_rps: end }) {
      if (ramp_up_strategy === undefined) return none;
      if (start === undefined || end === undefined) {
        const missing = [start, end].flatMap((rps, i) =>
          rps === undefined ? [i === 0 ? '--ramp-up-start-rps' : '--ramp-up-end-rps'] : [],
        );
        return problem('--ramp-up-strategy', `needs ${missing.join(' and ')}`, 'say from which rate to which');
      }
      return start > end
        ? problem('--ramp-up-start-rps', `${start} is more than --ramp-up-end-rps ${end}`, 'the rate goes upwards')
        : none;
    },
  },
  {
    of: ['ramp_up_strategy', 'ramp_up_start_rps', 'ramp_up_end_rps'],
    soft: true,
    find: ({ ramp_up_strategy, ramp_up_start_rps: start, ramp_up_end_rps: end }) =>
      ramp_up_strategy === undefined && (start !== undefined || end !== undefined)
        ? problem(
            start !== undefined ? '--ramp-up-start-rps' : '--ramp-up-end-rps',
            'has no effect without --ramp-up-strategy',
            'add --ramp-up-strategy linear, or exponential',
          )
        : none,
  },
  {
    of: ['dataset_name', 'dataset_path'],
    find: ({ dataset_name, dataset_path }) =>
      dataset_path !== undefined && madeUp.includes(dataset_name)
        ? problem(
            '--dataset-path',
            `--dataset-name ${dataset_name} reads no file`,
            'name the dataset of the file with --dataset-name, such as sharegpt or custom',
          )
        : none,
  },
  {
    of: ['dataset_name', 'dataset_path'],
    find: ({ dataset_name, dataset_path }) =>
      dataset_path === undefined && fromFile.includes(dataset_name)
        ? problem('--dataset-path', `is missing for --dataset-name ${dataset_name}`, 'give the file of the dataset')
        : none,
  },
  {
    of: ['dataset_name', 'self_timed'],
    find: ({ dataset_name, self_timed }) =>
      self_timed !== undefined && dataset_name !== 'timed_trace'
        ? problem(
            self_timed ? '--self-timed' : '--no-self-timed',
            `is for --dataset-name timed_trace, and this is ${dataset_name}`,
            'leave it out: the arrival options say when requests are sent',
          )
        : none,
  },
  {
    of: ['dataset_name', 'backend', 'endpoint_type'],
    find: (given) =>
      given.dataset_name === 'timed_trace' && !['openai', 'vllm'].includes(backendOf(given))
        ? problem('--backend', 'cannot send the token ids of timed_trace', 'use --backend openai')
        : none,
  },
  {
    of: ['dataset_name', 'skip_tokenizer_init'],
    find: ({ dataset_name, skip_tokenizer_init }) =>
      skip_tokenizer_init && needTokenizer.includes(dataset_name)
        ? problem(
            '--skip-tokenizer-init',
            `--dataset-name ${dataset_name} cannot make prompts without a tokenizer`,
            'leave it out, or use --dataset-name custom',
          )
        : none,
  },
  {
    of: ['compat', 'ignore_eos', 'dataset_name', 'backend', 'endpoint_type'],
    find: (given) =>
      given.ignore_eos === false && given.compat !== 'servetune' && pinsOutput(given)
        ? problem(
            '--no-ignore-eos',
            `--compat ${given.compat} always ignores end-of-sequence with ${given.dataset_name}, as that version does`,
            'leave it out, or use --compat servetune',
          )
        : none,
  },
  {
    of: [...samplingKeys, 'logprobs', 'lora_modules', 'backend', 'endpoint_type'],
    find(given) {
      const backend = backendOf(given);
      const endpoint = endpoints.find(({ name }) => name === backend);
      if (!endpoint) return none;
      const sampling: Sampling = Object.fromEntries(samplingKeys.map((key) => [key, given[key]]));
      const { logprobs } = given;
      const asked = { sampling, ...(logprobs === undefined ? {} : { logprobs }) };
      return unsupported(endpoint, asked, given.lora_modules !== undefined).map((wish) => ({
        place: flagName(wish === 'lora' ? 'lora_modules' : wish),
        message: `--backend ${backend} has no place for it in a request`,
        hint: 'leave it out, or use --backend openai',
      }));
    },
  },
  {
    of: ['extra_body'],
    find: ({ extra_body }) =>
      extra_body?.stream === false
        ? problem('--extra-body', 'turns streaming off, and times of tokens come from the stream', 'leave stream out')
        : none,
  },
  { of: ['header'], find: ({ header }) => readHeaders(header).problems },
  { of: ['metadata'], find: ({ metadata }) => readMetadata(metadata).problems },
  { of: ['goodput'], find: ({ goodput }) => readGoodput(goodput ?? []).problems },
  { of: ['metric_percentiles'], find: ({ metric_percentiles }) => readPercentiles(metric_percentiles).problems },
  {
    of: ['percentile_metrics', 'compat', 'backend', 'endpoint_type'],
    find(given) {
      const { text, known } = metricsOf(given);
      return readMetrics(text, known).problems;
    },
  },
  {
    of: ['save_detailed', 'save_result', 'append_result'],
    soft: true,
    find: ({ save_detailed, save_result, append_result }) =>
      save_detailed && !save_result && !append_result
        ? problem('--save-detailed', 'has no effect without --save-result', 'add --save-result')
        : none,
  },
  {
    of: ['append_result', 'result_filename'],
    soft: true,
    find: ({ append_result, result_filename }) =>
      append_result && !result_filename
        ? problem(
            '--append-result',
            'makes a new file each time without --result-filename, because the usual name has the time in it',
            'add --result-filename',
          )
        : none,
  },
  {
    of: ['result_filename', 'records', 'result_json'],
    find: (given) =>
      (['result_filename', 'records', 'result_json'] as const)
        .filter((key) => /(^|\/)\.{0,2}$/.test(given[key] || 'name'))
        .map((key) => ({ place: flagName(key), message: `${given[key]} is a folder`, hint: 'name a file in it' })),
  },
  {
    of: ['label', 'result_filename', 'save_result', 'append_result'],
    find: ({ label, result_filename, save_result, append_result }) =>
      label?.includes('/') && !result_filename && (save_result || append_result)
        ? problem('--label', 'is the beginning of a file name and cannot have a /', 'add --result-filename')
        : none,
  },
];

/** A rule for an option that takes names: what it knows, what vLLM knows and is not here, and anything else. */
function choice(key: 'backend' | 'endpoint_type' | 'dataset_name' | 'tokenizer_mode', known: readonly string[]): Rule {
  const elsewhere = refusedValues[key === 'endpoint_type' ? 'backend' : key];
  return {
    of: [key],
    find(given) {
      const value = given[key];
      if (value === undefined || known.includes(value)) return none;
      const [reason, remedy] = new Map<string, readonly [string, string]>(Object.entries(elsewhere)).get(value) ?? [];
      if (reason !== undefined && remedy !== undefined) {
        return problem(flagName(key), `${value} is not supported: ${reason}`, remedy);
      }
      const meant = closest(value, known);
      return problem(
        flagName(key),
        `there is no ${value}`,
        `${meant === undefined ? '' : `did you mean ${meant}? `}It is one of ${known.join(', ')}`,
      );
    },
  };
}

/** A rule for an option that is refused with any value but its default. */
function refusal(key: keyof typeof refused): Rule {
  const { schema, reason, remedy, alike } = refused[key];
  const bare = (value: unknown): string => String(value).replace(/\s/g, '');
  const harmless = [defaultOf(schema), ...alike].map(bare);
  return {
    of: [key],
    find: (given) =>
      harmless.includes(bare(given[key])) ? none : problem(flagName(key), `is not supported: ${reason}`, remedy),
  };
}

const applying = (given: BenchOptions, unreadable: ReadonlySet<string>, soft: boolean): readonly Problem[] =>
  rules
    .filter((rule) => (rule.soft === true && given.compat !== 'servetune') === soft)
    .filter((rule) => !rule.of.some((key) => unreadable.has(key)))
    .flatMap((rule) => rule.find(given));

/**
 * Everything that is wrong with the options together, each with its flag and a remedy. What looks at an unreadable
 * option is left out.
 */
export const benchProblems = (given: BenchOptions, unreadable: ReadonlySet<string> = new Set()): readonly Problem[] =>
  applying(given, unreadable, false);

/** What vLLM would run all the same, as sentences; none in servetune's own mode, where these are problems. */
export const tolerated = (given: BenchOptions): readonly string[] =>
  applying(given, new Set(), true).map(({ place, message }) => `${place} ${message}`);
