import { z } from 'zod';
import type { Making } from '../datasets/dataset.ts';
import { promptsHash } from '../datasets/hash.ts';
import { cachedMake } from '../datasets/kept/prompt-cache.ts';
import { endpointNamed } from '../endpoints/table.ts';
import { defaultCacheDir } from '../kit/cache-dir.ts';
import { exitCodes, InputError } from '../kit/errors.ts';
import { datasetOptions } from '../records/dataset-options.ts';
import type { RequestSpec } from '../records/request.ts';
import { backends, workloadOptions } from '../records/workload.ts';
import { datasetNamed } from '../study/prompts.ts';
import { bundledModel } from '../tokenizers/bundled.ts';
import { chooseTokenizer } from '../tokenizers/choose.ts';
import type { Tokenizer } from '../tokenizers/tokenizer.ts';
import { defineCommand } from './command.ts';
import type { Terminal } from './terminal.ts';

const options = z.strictObject({
  ...datasetOptions,
  tokenizer: z
    .string()
    .min(1)
    .optional()
    .describe('tokenizer.json, a folder with one, or a model in Hugging Face’s cache; default: that of --model'),
  model: z.string().min(1).optional().describe('Model, in Hugging Face’s cache or a folder; its tokenizer is taken'),
  skip_tokenizer_init: z.boolean().default(false).describe('Work without a tokenizer; lengths are 0 then'),
  backend: z
    .enum(backends)
    .default('openai')
    .describe('Request dialect; it decides only whether the server applies the chat template'),
  compat: workloadOptions.shape.compat.describe('Whose prompts'),
  format: z
    .enum(['jsonl', 'summary'])
    .default('jsonl')
    .describe('jsonl is an object a request, summary one object with the totals'),
  cache: z.boolean().default(true).describe('Take prompts that were made before from the cache, and keep new ones'),
});
type Given = z.infer<typeof options>;

export default defineCommand({
  name: 'dataset',
  about: [
    'Prints the requests that `bench serve` would send with the same options, without a server: an object a line, with',
    'prompt, prompt_len and expected_output_len in tokens, and due_s where the data set has its own clock. Totals and the',
    'SHA-256 of all prompts, a NUL byte between two, go to standard error.',
  ].join('\n'),
  options,
  groups: [
    { title: 'Prompts', keys: Object.keys(datasetOptions) },
    { title: 'Tokenizer', keys: ['tokenizer', 'model', 'skip_tokenizer_init'] },
    { title: 'Behaviour', keys: ['backend', 'compat'] },
    { title: 'Output', keys: ['format', 'cache'] },
  ],
  examples: [
    [
      'servetune dataset --dataset-name sharegpt --num-prompts 100 --seed 1 --model Qwen/Qwen3-14B > requests.jsonl',
      'what a load would send',
    ],
    [
      'servetune dataset --random-input-len 2000 --num-prompts 500 --tokenizer ./Qwen3-14B --format summary',
      'how much that is, and the hash of it',
    ],
  ],

  async run(given, terminal) {
    const tokenizer = await tokenizerOf(given, terminal);
    try {
      const { requests, notes } = await made(given, tokenizer, terminal);
      terminal.status('');
      for (const note of notes) terminal.note(note);
      const totals = {
        dataset: given.dataset_name,
        requests: requests.length,
        prompt_tokens: sum(requests, (request) => request.promptTokens),
        output_tokens: sum(requests, (request) => request.outputTokens),
        prompts_sha256: promptsHash(requests),
      };
      if (given.format === 'summary') terminal.print(JSON.stringify(totals, null, 2));
      else for (const request of requests) terminal.print(lineOf(request));
      terminal.note(
        `${totals.requests} requests, ${totals.prompt_tokens} prompt tokens, ${totals.output_tokens} output tokens, ` +
          `sha256 of the prompts ${totals.prompts_sha256}`,
      );
      return exitCodes.done;
    } finally {
      await tokenizer?.close?.();
    }
  },
});

/** The tokenizer that was asked for. Another one would make other prompts, so there is nothing to fall back to. */
async function tokenizerOf(given: Given, { environment: env, signal, note }: Terminal): Promise<Tokenizer | null> {
  const { tokenizer: path, model, skip_tokenizer_init: skip } = given;
  if (skip) return null;
  if (path === undefined && model === undefined) {
    note(`neither --tokenizer nor --model is given, so prompts are those for the built-in model ${bundledModel}`);
  }
  const chosen = await chooseTokenizer({ path, model: model ?? bundledModel, env, signal });
  if (chosen.note === undefined) return chosen.tokenizer;
  await chosen.tokenizer.close?.();
  throw new InputError([
    {
      place: '--model',
      message: `there is no tokenizer.json of ${model}, neither in a folder of that name nor in Hugging Face’s cache`,
      hint: `download it (hf download ${model} tokenizer.json tokenizer_config.json), or name one with --tokenizer`,
    },
  ]);
}

function made(given: Given, tokenizer: Tokenizer | null, terminal: Terminal) {
  const dataset = datasetNamed(given.dataset_name);
  const keys = [...Object.keys(datasetOptions), 'backend', 'compat'] as (keyof Given)[];
  const workload = workloadOptions.parse(Object.fromEntries(keys.map((key) => [key, given[key]])));
  const making: Making = {
    tokenizer,
    signal: terminal.signal,
    serverTemplates: endpointNamed(given.backend).templates,
    cacheDir: defaultCacheDir(terminal.environment),
    onProgress: (done, total) => terminal.status(`preparing prompts  ${done}/${total}`),
  };
  return given.cache
    ? cachedMake(dataset, workload, given.num_prompts, making)
    : dataset.make(workload, given.num_prompts, making);
}

/**
 * One request as JSON. What a terminal would obey, and would be shown as something else, is written as an escape, so that
 * the line holds exactly the prompt.
 */
const lineOf = ({ prompt, promptTokens, outputTokens, dueS }: RequestSpec): string =>
  JSON.stringify({
    prompt,
    prompt_len: promptTokens,
    expected_output_len: outputTokens,
    ...(dueS === undefined ? {} : { due_s: dueS }),
  }).replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const sum = (requests: readonly RequestSpec[], of: (request: RequestSpec) => number): number =>
  requests.reduce((total, request) => total + of(request), 0);
