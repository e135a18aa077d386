import { describe, expect, it } from 'vitest';
import { compileCacheIn } from '../../src/engines/engine.ts';
import { vllm } from '../../src/engines/vllm.ts';
import { failureIn, recordedContract } from '../contracts/recorded-engine.ts';
import { recordedLog } from './recorded.ts';

const release = 'vllm-0.25.1';

recordedContract(vllm, {
  release,
  failures: {
    'bad-value': ['unsupported_setting', "argument --max-num-seqs: invalid int value: 'many'"],
    'context-beyond-model': ['unsupported_setting', 'max_model_len (100000) is greater', { context_length: 40960 }],
    'fraction-099-huge-context': ['out_of_memory', '109.02 GiB', { context_length: 714480 }],
    'fraction-too-small': ['out_of_memory', 'No available memory for the cache blocks'],
    'impossible-backend': ['unsupported_setting', 'FLASHMLA is not valid for this configuration'],
    'kv-too-small': ['out_of_memory', '0.62 GiB KV cache is needed', { context_length: 1024 }],
    'memory-taken': ['out_of_memory', '78.77/139.8 GiB'],
    'no-such-model': ['start_failed', 'Repo id must be in the form'],
    'port-in-use': ['start_failed', 'Address already in use'],
    'tp2-on-one-gpu': ['unsupported_setting', 'World size (2) is larger than the number of available GPUs (1)'],
    'unknown-backend': ['unsupported_setting', "Unknown attention backend: 'NO_SUCH'"],
    'unknown-flag': ['unsupported_setting', 'unrecognized arguments: --no-such-flag'],
  },
  lastWords: 'torch.AcceleratorError: CUDA error: an illegal memory access was encountered',
  settingsInForce: {
    attention_backend: 'flash_attn',
    flash_attention_version: '3',
    context_length: '40960',
    max_batched_tokens: '8192',
    async_scheduling: 'enabled',
    kv_cache_gib: '99.27',
    kv_cache_tokens: '650560',
    max_concurrency: '15.88',
  },
  start: {
    readyLine: 'Starting vLLM server',
    readyS: 80.819,
    // Loaded from 25.039 on, compiled from 26.793 on, memory measured at 65.328.
    parts: { starting: 25.039, loading: 1.754, compiling: 38.535 },
    longerThanS: { 'warming up': 8 },
  },
  absentCounters: ['draftTokens', 'acceptedTokens'], // nothing was drafted
});

it.each([
  // Words of 0.11.0, from its sources.
  [
    "ValueError: To serve at least one request with the models's max seq len (40960), (6.25 GiB KV cache is needed, which is larger than the available KV cache memory (2.49 GiB). Based on the available memory, the estimated maximum model length is 16320. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
    'out_of_memory',
    { context_length: 16320 },
  ],
  [
    "ValueError: To serve at least one request with the models's max seq len (40960), (6.25 GiB KV cache is needed, which is larger than the available KV cache memory (0.01 GiB). ",
    'out_of_memory',
    undefined,
  ],
  [
    "Value error, User-specified max_model_len (100000) is greater than the derived max_model_len (max_position_embeddings=40960 or model_max_length=None in model's config.json).",
    'unsupported_setting',
    { context_length: 40960 },
  ],
  [
    'ValueError: max_num_batched_tokens (256) must be greater than or equal to max_num_seqs (512).',
    'unsupported_setting',
    { max_batched_tokens: 512 },
  ],
  [
    'ValueError: max_num_batched_tokens (4096) is smaller than max_model_len (40960). This effectively limits',
    'unsupported_setting',
    { max_batched_tokens: 40960 },
  ],
  [
    'ValueError: Total number of attention heads (40) must be divisible by tensor parallel size (3).',
    'unsupported_setting',
    undefined,
  ],
  [
    'ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 80. Current capability: 75.',
    'unsupported_setting',
    undefined,
  ],
  [
    'NotImplementedError: FlashAttention does not support fp8 kv-cache on this device.',
    'unsupported_setting',
    undefined,
  ],
  ['torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.', 'out_of_memory', undefined],
  ['RuntimeError: CUDA error: an illegal memory access was encountered', 'start_failed', undefined],
  ["ValueError: Model architectures ['NoSuchForCausalLM'] are not supported for now.", 'start_failed', undefined],
] as const)('knows %j', (line, fate, suggestion) => {
  // biome-ignore format: messages as they are
  const found = failureIn(vllm, ['(EngineCore_DP0 pid=7) Traceback (most recent call last):', `(EngineCore_DP0 pid=7) ${line}`,
    '(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}']);
  expect(found.fate).toBe(fate);
  expect(found.failure.message).toContain(line.slice(0, 40));
  expect(found.failure.suggestion).toEqual(suggestion);
});

describe('the log of vLLM', () => {
  it.each([
    ['FLASH_ATTN', 'flash_attn'],
    ['FLASHINFER', 'flashinfer'],
    ['FLEX_ATTENTION', 'flex_attention'],
    ['TRITON_ATTN', 'triton_attn'],
  ])('tells the backend that was asked for: %s', (asked, backend) => {
    const log = recordedLog(`${release}/logs/backend-${asked}.log`);
    expect(vllm.settingsInLog?.(log).attention_backend).toBe(backend);
  });

  it.each([
    ['INFO 11-01 [cuda.py:366] Using Flash Attention backend on V1 engine.', 'flash_attn'],
    ['INFO 11-01 [cuda.py:312] Using FlashInfer backend on V1 engine.', 'flashinfer'],
    [
      'INFO 11-01 [cuda.py:345] Using FlashInfer backend with HND KV cache layout on V1 engine by default',
      'flashinfer',
    ],
    ['INFO 11-01 [cuda.py:322] Using Triton backend on V1 engine.', 'triton_attn'],
    ['INFO 11-01 [cuda.py:384] Using FlexAttention backend for head_size=80 on V1 engine.', 'flex_attention'],
    ['INFO 11-01 [layer.py:1] Using FLASHINFER_CUTLASS MoE backend', undefined],
    ['INFO 11-01 [x.py:1] Using nccl backend', undefined],
  ])('reads 0.11.0’s words: %s', (line, backend) => {
    expect(vllm.settingsInLog?.([line]).attention_backend).toBe(backend);
  });

  it('tells the sizes of CUDA graphs', () => {
    const newer = "compilation_config={'mode': 3, 'cudagraph_capture_sizes': [1, 2, 4], 'max': 4}";
    const older = 'compilation_config={"level":3,"cudagraph_capture_sizes":[512,504,1]}';
    expect(vllm.settingsInLog?.([newer]).cuda_graph_sizes).toBe('1, 2, 4');
    expect(vllm.settingsInLog?.([older]).cuda_graph_sizes).toBe('512,504,1');
  });
});

describe('the compile cache of vLLM', () => {
  const stateIn = (lines: readonly string[]) => compileCacheIn(lines, vllm.compileCache);

  it.each([
    ['start-small', 'cold'],
    ['start-14b', 'cold'],
    ['backend-FLASHINFER', 'cold'],
    // The same model again.
    ['start-sigint-idle', 'warm'],
    ['start-sigterm-idle', 'warm'],
    ['start-sigkill-leader', 'warm'],
    ['start-sigterm-loading', 'warm'],
    // It ended before, or compiles nothing.
    ['fail-kv-too-small', undefined],
    ['fail-no-such-model', undefined],
  ])('is told by its log: %s is %s', (name, state) => {
    expect(stateIn(recordedLog(`${release}/logs/${name}.log`))).toBe(state);
  });

  it('is told in 0.11.0’s words too, and is cold where only some graphs were found', () => {
    const found =
      'INFO [backends.py:161] Directly load the compiled graph(s) for dynamic shape from the cache, took 1.9 s';
    const compiled = 'INFO [backends.py:218] Compiling a graph for dynamic shape takes 28.96 s';
    expect(stateIn([found])).toBe('warm');
    expect(stateIn(['INFO [backends.py:197] Cache the graph for dynamic shape for later use'])).toBe('cold');
    expect(stateIn([found, compiled])).toBe('cold');
    expect(stateIn([compiled, found])).toBe('cold');
  });
});
