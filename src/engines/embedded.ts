import { z } from 'zod';
import type { Command } from '../hosts/host.ts';
import { boundedAnswer } from '../kit/bounded-answer.ts';
import { ServetuneError } from '../kit/errors.ts';
import { invocation } from '../kit/invocation.ts';
import type { Settings } from '../records/settings.ts';
import { findAddon } from './embedded/addon.ts';
import { checkModelFile, defaultCacheDir, modelFile } from './embedded/model/cache.ts';
import { coreCount, optionProblems, quantizations, serveOptions } from './embedded/options.ts';
import { defineEngine, type Launch } from './engine.ts';

const { parallel, batch_size, cache_type, context_length, threads } = serveOptions.shape;

const settings = z.strictObject({
  quantization: z.enum(quantizations).optional().describe('Number format of the weights; default: the file as it is'),
  attention_backend: z
    .enum(['flash', 'plain'])
    .optional()
    .describe('Flash attention, or one matrix after the other; default: flash where it works'),
  threads: threads.describe('CPU threads that compute; default: all cores but one, at least 1'),
  max_running_requests: parallel.unwrap().optional().describe('Most requests decoded together; default 4, at most 256'),
  max_batched_tokens: batch_size.unwrap().optional().describe('Most tokens in one step; default 512'),
  kv_cache_dtype: cache_type.unwrap().optional().describe('Number format of the KV cache; default f16'),
  context_length: context_length.describe(
    'Longest prompt and answer together of one request, tokens; the cache is this times max_running_requests',
  ),
});

/** The flag of each setting, in the order in which a command names them. */
const flags: Readonly<Record<keyof z.infer<typeof settings>, string>> = {
  quantization: '--quantization',
  attention_backend: '--flash-attn',
  threads: '--threads',
  max_running_requests: '--parallel',
  max_batched_tokens: '--batch-size',
  kv_cache_dtype: '--cache-type',
  context_length: '--context-length',
};

const settingNames = {
  flash_attn: 'attention_backend',
  parallel: 'max_running_requests',
  batch_size: 'max_batched_tokens',
  cache_type: 'kv_cache_dtype',
  threads: 'threads',
  on: 'flash',
  off: 'plain',
} as const;

/** llama.cpp on the CPU (Metal on Apple silicon), from npm alone: `servetune serve`. */
export const embedded = defineEngine({
  name: 'embedded',
  description: 'llama.cpp inside servetune, on the CPU; needs nothing but npm, and has a model that needs no download',
  settings,
  conflicts: (given) => optionProblems(optionsOf(given), coreCount(), settingNames),
  version: async () => findAddon().version,
  checkModel: async (model) => checkModelFile(model),

  async prepare(launches, environment, signal) {
    for (const launch of launches) {
      const { quantization } = optionsOf(launch.settings);
      await modelFile(launch.model, quantization, defaultCacheDir(environment), signal);
    }
  },

  command,
  healthPath: '/health',

  // The default is flash attention, and the file as it is; a batch of 16 is what a CPU still gains from.
  defaultStages: ({ concurrency }) => [
    { name: 'quantization', alternatives: [{ quantization: 'q8_0' }, { quantization: 'q4_0' }] },
    { name: 'attention backend', alternatives: [{ attention_backend: 'plain' }] },
    {
      name: 'batch',
      alternatives: [8, 16, 32].filter((n) => n <= concurrency).map((n) => ({ max_running_requests: n })),
    },
    { name: 'KV cache', alternatives: [{ kv_cache_dtype: 'q8_0' }] },
  ],

  async effectiveSettings(baseUrl, signal) {
    const url = new URL('/server_info', baseUrl);
    const { ok, status, text } = await boundedAnswer(url, signal);
    if (!ok) throw new ServetuneError('no_effective_settings', `${url} answered ${status}`);
    return z.object({ settings: z.record(z.string(), z.string()) }).parse(JSON.parse(text)).settings;
  },

  symptoms: [
    {
      pattern: /out of memory|failed to allocate|unable to allocate|cannot allocate memory|bad_alloc/i,
      fate: 'out_of_memory',
      hint: 'lower context_length or max_running_requests, or quantize the weights or the KV cache',
    },
    {
      pattern: /quantized V cache .*requires? flash|cache type .* block size|can only be read by flash attention/i,
      fate: 'unsupported_setting',
      hint: 'kv_cache_dtype f16, f32 or bf16, or attention_backend flash',
    },
    {
      pattern: /the engine cannot go on|the model failed|GGML_ASSERT/,
      fate: 'crashed_under_load',
      hint: 'see the last lines of its log; lower max_batched_tokens or max_running_requests',
    },
    {
      pattern: /is in use/,
      fate: 'start_failed',
      hint: 'stop the program that listens on that port, or let servetune choose one',
      portTaken: true,
    },
    {
      pattern: /llama\.cpp cannot load/,
      fate: 'start_failed',
      hint: 'check that the file is whole, and of an architecture that this version of llama.cpp knows',
    },
    {
      pattern: /llama\.cpp cannot make a context/,
      fate: 'start_failed',
      hint: 'lower context_length, max_running_requests or max_batched_tokens',
    },
    {
      pattern: /binaries cannot be loaded|@node-llama-cpp\/\S+ is not installed/,
      fate: 'start_failed',
      hint: 'npm install --include=optional, on glibc 2.34 or newer',
    },
  ],
});

function command({ model, port, settings }: Launch): Command {
  const chosen = Object.entries(flags).flatMap(([name, flag]) => {
    const value = settings[name];
    if (value === undefined) return [];
    return [flag, name === 'attention_backend' ? onOrOff(value) : String(value)];
  });
  return {
    argv: [...invocation, 'serve', '--model', model, '--port', String(port), ...chosen],
    env: {},
  };
}

const onOrOff = (backend: unknown): 'on' | 'off' => (backend === 'flash' ? 'on' : 'off');

/** Settings that passed the schema, as the options of `servetune serve`. */
function optionsOf(given: Settings) {
  const { attention_backend, ...rest } = settings.parse(given);
  return {
    quantization: rest.quantization,
    threads: rest.threads,
    ...(attention_backend === undefined ? {} : { flash_attn: onOrOff(attention_backend) }),
    ...(rest.max_running_requests === undefined ? {} : { parallel: rest.max_running_requests }),
    ...(rest.max_batched_tokens === undefined ? {} : { batch_size: rest.max_batched_tokens }),
    ...(rest.kv_cache_dtype === undefined ? {} : { cache_type: rest.kv_cache_dtype }),
  };
}
