import type { StartPart, Symptom } from '../engine.ts';

/** The root cause comes before what wraps it: out of memory before `error loading model`. */
export const symptoms: readonly Symptom[] = [
  {
    pattern: /couldn't bind HTTP server socket/,
    fate: 'start_failed',
    hint: 'stop the program that listens on that port, or let servetune choose one',
    portTaken: true,
  },
  {
    pattern:
      /error: invalid argument:|error while handling argument|the argument has been removed|Unsupported cache type|unknown speculative type/,
    fate: 'unsupported_setting',
    hint: 'this build of llama.cpp does not have that flag or value',
  },
  {
    pattern: /error while handling environment variable/,
    fate: 'start_failed',
    hint: 'unset the LLAMA_ARG_ variables of the environment',
  },
  {
    pattern: /quantized V cache .*requires? flash|V cache quantization requires flash_attn/i,
    fate: 'unsupported_setting',
    hint: 'attention_backend flash, or kv_cache_dtype f16, bf16 or f32',
    corrected: () => ({ attention_backend: 'flash' }),
  },
  {
    pattern: /cache type \S+ with block size \d+ does not divide|does not support different K .* and V .* cache types/,
    fate: 'unsupported_setting',
    hint: 'this model cannot have that kv_cache_dtype; f16 always works',
    corrected: () => ({ kv_cache_dtype: 'f16' }),
  },
  {
    pattern: /n_seq_max must be <= (\d+)/,
    fate: 'unsupported_setting',
    hint: 'lower max_running_requests',
    corrected: ([, most]) => ({ max_running_requests: Number(most) }),
  },
  {
    pattern:
      /out of memory|bad_alloc|unable to allocate \S+ buffer|failed to allocate (?:\S+ )?(?:buffer|compute|graph|context)/i,
    fate: 'out_of_memory',
    hint: 'lower context_length, max_running_requests or gpu_layers, or set kv_cache_dtype q8_0',
  },
  {
    pattern: /Context size has been exceeded/,
    fate: 'crashed_under_load',
    hint: 'the slots share one cache and it was full: raise context_length, or set max_running_requests',
  },
  {
    pattern: /exceeds the available context size|is larger than the max context size/,
    fate: 'unsupported_setting',
    hint: 'raise context_length to the longest prompt and answer together',
  },
  { pattern: /GGML_ASSERT|GGML_ABORT|CUDA error/, fate: 'crashed_under_load', hint: 'see the last lines of its log' },
  {
    pattern: /failed to load draft model|requires a draft context|speculative decoding not supported by this context/,
    fate: 'unsupported_setting',
    hint: 'speculative_model must be a GGUF file with the vocabulary of the model, of the kind that the method needs',
  },
  {
    pattern: /unknown model architecture/,
    fate: 'start_failed',
    hint: 'this build of llama.cpp does not know that architecture; use a newer one',
  },
  {
    pattern: /error loading model|failed to load model|missing tensor|failed to create.context/,
    fate: 'start_failed',
    hint: 'check that the GGUF file is whole',
  },
  {
    pattern: /CUDA driver version is insufficient|no CUDA-capable device|failed to initialize CUDA/,
    fate: 'start_failed',
    hint: 'check that nvidia-smi works here, and that its driver is new enough for this build',
  },
];

export const startParts: readonly StartPart[] = [
  { part: 'loading', pattern: /loading model|llama_model_load/ },
  { part: 'warming up', pattern: /warming up the model/ },
];

/** What the log tells and `/props` does not; most of it only in older builds, or with `-lv 4`. */
export function settingsInLog(log: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  let cacheMiB = 0;
  for (const line of log) {
    const slots = /\bn_slots = (\d+)/.exec(line)?.[1];
    if (slots !== undefined) found.max_running_requests = slots;
    const context = /\bn_ctx_slot = (\d+)/.exec(line)?.[1];
    if (context !== undefined) found.context_length = context;
    const unified = /\bkv_unified\s+= '?(true|false)/.exec(line)?.[1];
    if (unified !== undefined) found.kv_unified = unified;
    // It serves all the same, without drafting.
    if (/failed to initialize speculative decoding context/.test(line)) found.speculative_method = 'none';
    const layers = /offloaded (\d+)\/\d+ layers to GPU/.exec(line)?.[1];
    if (layers !== undefined) found.gpu_layers = layers;
    const types = /K \((\w+)\):.*V \((\w+)\):/.exec(line);
    if (types) found.kv_cache_dtype = types[1] === types[2] ? (types[1] ?? '') : `${types[1]}, ${types[2]}`;
    // `auto` is decided later, in a line of its own.
    const flash =
      /\bflash_attn\s+= (enabled|disabled|0|1)\b/.exec(line)?.[1] ??
      /Flash Attention (?:was auto, set to |not supported, set to )?(enabled|disabled)/.exec(line)?.[1];
    if (flash !== undefined) found.attention_backend = flash === 'enabled' || flash === '1' ? 'flash' : 'plain';
    cacheMiB += Number(/ KV buffer size =\s*([\d.]+) MiB/.exec(line)?.[1] ?? 0);
  }
  if (cacheMiB > 0) found.kv_cache_mib = cacheMiB.toFixed(0);
  return found;
}
