import { describe, expect, it } from 'vitest';
import { vllm } from '../../src/engines/vllm.ts';
import { classify } from '../../src/study/failure.ts';
import { partClock } from '../../src/study/start-watch.ts';
import { recordedLog, recordedLogs, recordedText } from './recorded.ts';

const engine = 'vllm-0.25.1';
const failure = (lines: readonly string[]) => classify(vllm, { fate: 'start_failed', message: 'ended' }, lines);

/** Of each recorded failure the fate, the words that tell the cause, and what would have worked where vLLM says so. */
const failures = {
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
} as const;

describe('a recorded failure of vLLM', () => {
  it('is named, each of them', () => {
    expect(recordedLogs(engine, 'fail-')).toEqual(Object.keys(failures).map((name) => `fail-${name}.log`));
  });

  it.each(Object.entries(failures))(
    '%s has its fate, its cause and its correction',
    (name, [fate, cause, suggestion]) => {
      const found = failure(recordedLog(`${engine}/logs/fail-${name}.log`));
      expect(found.fate).toBe(fate);
      expect(found.failure.message).toContain(cause);
      expect(found.failure.suggestion).toEqual(suggestion);
      expect(found.portTaken ?? false).toBe(name === 'port-in-use');
    },
  );
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
  const found = failure(['(EngineCore_DP0 pid=7) Traceback (most recent call last):', `(EngineCore_DP0 pid=7) ${line}`,
    '(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}']);
  expect(found.fate).toBe(fate);
  expect(found.failure.message).toContain(line.slice(0, 40));
  expect(found.failure.suggestion).toEqual(suggestion);
});

it('calls a kernel that fails under load a crash under load', () => {
  const lines = ['torch.AcceleratorError: CUDA error: an illegal memory access was encountered'];
  expect(classify(vllm, { fate: 'crashed_under_load', message: 'died' }, lines).fate).toBe('crashed_under_load');
});

it.each(recordedLogs(engine, 'start-'))('finds nothing wrong in a good start: %s', (name) => {
  const found = classify(vllm, { fate: 'hung', message: 'quiet' }, recordedLog(`${engine}/logs/${name}`));
  expect([found.fate, found.failure.hint]).toEqual(['hung', undefined]);
});

describe('the log of vLLM', () => {
  it('tells the settings in force', () => {
    expect(vllm.settingsInLog?.(recordedLog(`${engine}/logs/start-14b.log`))).toEqual({
      attention_backend: 'flash_attn',
      flash_attention_version: '3',
      context_length: '40960',
      max_batched_tokens: '8192',
      async_scheduling: 'enabled',
      kv_cache_gib: '99.27',
      kv_cache_tokens: '650560',
      max_concurrency: '15.88',
    });
  });

  it.each([
    ['FLASH_ATTN', 'flash_attn'],
    ['FLASHINFER', 'flashinfer'],
    ['FLEX_ATTENTION', 'flex_attention'],
    ['TRITON_ATTN', 'triton_attn'],
  ])('tells the backend that was asked for: %s', (asked, backend) => {
    const log = recordedLog(`${engine}/logs/backend-${asked}.log`);
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

  it('shows how long each part of the start took', () => {
    const clock = partClock(vllm.startParts ?? [], 0);
    for (const line of recordedText(`${engine}/logs/start-14b.log`).split('\n')) {
      const [, seconds, text = line] = /^ *(\d+\.\d{3}) (.*)/.exec(line) ?? [];
      if (seconds !== undefined) clock.line(text, Number(seconds));
      if (text.includes('Starting vLLM server')) break;
    }
    const parts = clock.times(80.819);
    // Loaded from 25.039 on, compiled from 26.793 on, memory measured at 65.328.
    expect(parts).toMatchObject({ starting: 25.039, loading: 1.754, compiling: 38.535 });
    expect(parts['warming up']).toBeGreaterThan(8);
    expect(Object.values(parts).reduce((sum, s) => sum + (s ?? 0), 0)).toBeCloseTo(80.819, 2);
  });
});

describe('the counters of vLLM', () => {
  it('are among its metrics', () => {
    const served = new Set(recordedText(`${engine}/metrics-after-load.txt`).match(/^vllm:\w+/gm));
    const named = Object.entries(vllm.counters?.names ?? {});
    const absent = named.filter(([, names]) => !names.some((name) => served.has(name))).map(([name]) => name);
    // Nothing was drafted.
    expect(absent).toEqual(['draftTokens', 'acceptedTokens']);
  });
});
