import { z } from 'zod';
import { InputError, messageOf, type Problem } from '../kit/errors.ts';
import { runToEnd } from '../processes/run.ts';
import type { Settings } from '../records/settings.ts';
import { defineEngine, type Symptom } from './engine.ts';

const attentionBackends = ['flash_attn', 'flashinfer', 'triton_attn', 'flex_attention'] as const;

const settings = z.strictObject({
  quantization: z
    .enum(['fp8', 'awq', 'fp8_online'])
    .optional()
    .describe('fp8 and awq take the checkpoint MODEL-FP8 or MODEL-AWQ; fp8_online converts at load'),
  attention_backend: z.enum(attentionBackends).optional(),
  kv_cache_dtype: z.enum(['auto', 'fp8', 'fp8_e4m3', 'fp8_e5m2']).optional(),
  max_running_requests: z.int().positive().optional().describe('--max-num-seqs'),
  max_batched_tokens: z.int().positive().optional().describe('--max-num-batched-tokens'),
  context_length: z.int().positive().optional().describe('--max-model-len'),
  gpu_memory_fraction: z.number().gt(0).lte(1).optional().describe('--gpu-memory-utilization'),
  prefix_caching: z.boolean().optional(),
  chunked_prefill: z.boolean().optional(),
  tensor_parallel: z.int().positive().optional().describe('--tensor-parallel-size'),
  cuda_graphs: z.boolean().optional().describe('false passes --enforce-eager'),
});

/** Flags that take a value, by setting. */
const valueFlags = {
  kv_cache_dtype: '--kv-cache-dtype',
  max_running_requests: '--max-num-seqs',
  max_batched_tokens: '--max-num-batched-tokens',
  context_length: '--max-model-len',
  gpu_memory_fraction: '--gpu-memory-utilization',
  tensor_parallel: '--tensor-parallel-size',
} as const;

/** Flags that are on or off, by setting: vLLM takes `--flag` and `--no-flag`, never a value. */
const switchFlags = {
  prefix_caching: 'enable-prefix-caching',
  chunked_prefill: 'enable-chunked-prefill',
} as const;

/** The checkpoint that a quantization stands for; the study's model where it is converted at load. */
const checkpoint = (model: string, quantization: unknown): string =>
  quantization === 'fp8' ? `${model}-FP8` : quantization === 'awq' ? `${model}-AWQ` : model;

const symptoms: readonly Symptom[] = [
  {
    pattern: /CUDA out of memory|torch\.OutOfMemoryError|CUDA error: out of memory|HIP out of memory/,
    fate: 'out_of_memory',
    hint: 'lower gpu_memory_fraction, max_running_requests or max_batched_tokens, or raise tensor_parallel',
  },
  {
    pattern: /No available memory for the cache blocks|larger than the available KV cache memory|KV cache is needed/,
    fate: 'out_of_memory',
    hint: 'lower context_length, or raise gpu_memory_fraction',
  },
  {
    pattern: /is less than desired GPU memory utilization/,
    fate: 'out_of_memory',
    hint: 'something else holds GPU memory: end it, or lower gpu_memory_fraction',
  },
  {
    pattern: /unrecognized arguments:|invalid choice:|error: argument .*: invalid|Unknown attention backend:/,
    fate: 'unsupported_setting',
    hint: 'this version of vLLM does not have that flag or value',
  },
  {
    pattern:
      /Minimum capability:|is not valid for this configuration|must be divisible by tensor parallel size|is larger than the number of available GPUs|is greater than the derived max_model_len/,
    fate: 'unsupported_setting',
    hint: 'this GPU or model cannot run that setting',
  },
  {
    pattern: /must be greater than or equal to max_num_seqs|is smaller than max_model_len/,
    fate: 'unsupported_setting',
    hint: 'raise max_batched_tokens',
  },
  { pattern: /Address already in use/i, fate: 'start_failed', hint: 'stop the other server', portTaken: true },
  {
    pattern: /gated repo|401 Client Error|403 Client Error|Repo id must be in the form/,
    fate: 'start_failed',
    hint: 'check the model name, and that HF_TOKEN may read it',
  },
];

/** vLLM's OpenAI server, as installed on PATH. */
export const vllm = defineEngine({
  name: 'vllm',
  description: 'vLLM, as `vllm` on PATH',
  settings,
  symptoms,
  healthPath: '/health',
  // Opens the route that resetCache uses; it changes nothing about serving.
  measuring: { argv: [], env: { VLLM_SERVER_DEV_MODE: '1' } },

  conflicts(chosen: Settings): readonly Problem[] {
    const { max_batched_tokens: batch, max_running_requests: sequences } = chosen;
    if (typeof batch !== 'number' || typeof sequences !== 'number' || batch >= sequences) return [];
    return [
      {
        place: 'max_batched_tokens',
        message: `${batch} tokens a step are fewer than ${sequences} sequences`,
        hint: 'raise max_batched_tokens or lower max_running_requests',
      },
    ];
  },

  async version(environment, signal) {
    const result = await runToEnd(['vllm', '--version'], { env: environment, timeoutS: 120, signal }).catch((error) => {
      signal.throwIfAborted();
      return { code: null, stdout: '', stderr: messageOf(error), timedOut: false };
    });
    const version = result.code === 0 ? /\d+\.\d+[\w.+]*/.exec(result.stdout + result.stderr)?.[0] : undefined;
    if (version === undefined) {
      const said = result.timedOut ? 'no answer in 120 s' : result.stderr.trim().split('\n').at(-1);
      throw new InputError([
        {
          place: '`vllm --version`',
          message: `did not tell a version: ${said}`,
          hint: 'install it: uv pip install vllm',
        },
      ]);
    }
    return version;
  },

  // Hugging Face names are resolved by vLLM itself.
  checkModel: async () => [],

  command({ model, port, settings: chosen, version }) {
    const argv = ['vllm', 'serve', checkpoint(model, chosen.quantization), '--host', '127.0.0.1', '--port', `${port}`];
    const env: Record<string, string> = {};
    if (chosen.quantization === 'fp8_online') argv.push('--quantization', 'fp8');
    if (chosen.attention_backend !== undefined) {
      const backend = String(chosen.attention_backend).toUpperCase();
      if (hasAttentionFlag(version)) argv.push('--attention-backend', backend);
      else env.VLLM_ATTENTION_BACKEND = backend;
    }
    for (const [name, flag] of Object.entries(valueFlags)) {
      if (chosen[name] !== undefined) argv.push(flag, String(chosen[name]));
    }
    for (const [name, flag] of Object.entries(switchFlags)) {
      if (chosen[name] !== undefined) argv.push(chosen[name] ? `--${flag}` : `--no-${flag}`);
    }
    if (chosen.cuda_graphs === false) argv.push('--enforce-eager');
    return { argv, env };
  },

  async resetCache(baseUrl, signal) {
    await fetch(new URL('/reset_prefix_cache', baseUrl), { method: 'POST', signal });
  },
});

/** `--attention-backend` came with v0.13; the variable was the only way before, and is ignored in silence since v0.15. */
function hasAttentionFlag(version: string | undefined): boolean {
  const match = /^(\d+)\.(\d+)/.exec(version ?? '');
  return !match || Number(match[1]) > 0 || Number(match[2]) >= 13;
}
