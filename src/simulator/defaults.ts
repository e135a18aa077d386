import type { MemoryRule } from '../hardware/fit.ts';
import type { Hardware } from '../hardware/gpus.ts';
import type { Settings } from '../records/settings.ts';

/** What an engine does where a configuration says nothing, as far as the simulation follows it. */
export interface EngineDefaults {
  readonly memoryRule: MemoryRule;
  readonly memoryFraction: number;
  readonly blockTokens: number;
  readonly maxBatchedTokens: number;
  readonly maxRunningRequests: number;
  readonly chunkedPrefill: boolean;
}

const gib = 2 ** 30;

/**
 * vLLM, `arg_utils.py` of 0.11: large GPUs other than A100 get 8192 tokens and 1024 requests, all others 2048 and 256;
 * from 0.28 on 16384 tokens at 160 GiB and more. 0.9 of memory, 0.92 in newer versions.
 */
function vllm(hardware: Hardware, version: string | undefined): EngineDefaults {
  const large = hardware.memoryBytes >= 70 * gib && !/^A100/.test(hardware.name);
  const newer = version !== undefined && Number(version.split('.')[1] ?? 0) >= 21;
  return {
    memoryRule: 'total',
    memoryFraction: newer ? 0.92 : 0.9,
    blockTokens: 16,
    maxBatchedTokens: large ? (newer && hardware.memoryBytes >= 160 * gib ? 16_384 : 8192) : 2048,
    maxRunningRequests: large ? 1024 : 256,
    chunkedPrefill: true,
  };
}

/**
 * SGLang, `server_args.py` of 0.5.5: chunks by memory; of the memory a reserve is kept back, in MiB: 512, 1.5 a token of a
 * chunk, two a request of the largest CUDA graph, at least 10 GiB on large GPUs.
 */
function sglang({ memoryBytes }: Hardware): EngineDefaults {
  const size = memoryBytes / gib;
  const chunk = size < 35 ? 2048 : size < 60 ? 4096 : size < 160 ? 8192 : 16_384;
  const graph = size < 35 ? 24 : size < 60 ? 32 : size < 160 ? 256 : 512;
  const reserve = 512 + 1.5 * Math.max(chunk, 2048) + 2 * graph + 128;
  const mib = memoryBytes / 2 ** 20;
  return {
    memoryRule: 'static',
    memoryFraction: (mib - Math.max(reserve, size > 60 ? 10 * 1024 : 0)) / mib,
    blockTokens: 1,
    maxBatchedTokens: chunk,
    maxRunningRequests: 4096,
    chunkedPrefill: true,
  };
}

/** TensorRT-LLM, `llm_args.py` of 1.2: whole prompts unless chunked prefill is switched on. */
const tensorrtLlm: EngineDefaults = {
  memoryRule: 'free',
  memoryFraction: 0.9,
  blockTokens: 32,
  maxBatchedTokens: 8192,
  maxRunningRequests: 2048,
  chunkedPrefill: false,
};

export function defaultsOf(engine: string, hardware: Hardware, version?: string): EngineDefaults | null {
  if (engine === 'vllm') return vllm(hardware, version);
  if (engine === 'sglang') return sglang(hardware);
  return engine === 'tensorrt-llm' ? tensorrtLlm : null;
}

/** The defaults with what a configuration sets. */
export function optionsOf(defaults: EngineDefaults, settings: Settings, engine: string): EngineDefaults {
  const number = (name: string, otherwise: number): number => {
    const value = settings[name];
    return typeof value === 'number' ? value : otherwise;
  };
  // SGLang's chunks bound a step before its own limit of prefilled tokens does.
  const budget =
    engine === 'sglang'
      ? Math.min(number('chunked_prefill_size', defaults.maxBatchedTokens), number('max_batched_tokens', 16_384))
      : number('max_batched_tokens', defaults.maxBatchedTokens);
  return {
    memoryRule: defaults.memoryRule,
    memoryFraction: number('gpu_memory_fraction', defaults.memoryFraction),
    blockTokens: number('kv_block_size', defaults.blockTokens),
    maxBatchedTokens: budget,
    maxRunningRequests: number('max_running_requests', defaults.maxRunningRequests),
    chunkedPrefill: typeof settings.chunked_prefill === 'boolean' ? settings.chunked_prefill : defaults.chunkedPrefill,
  };
}
