import { describe, expect, it } from 'vitest';
import { sglang } from '../../src/engines/sglang.ts';
import { failureIn, recordedContract } from '../contracts/recorded-engine.ts';
import { recordedLog } from './recorded.ts';

const release = 'sglang-0.5.11';

recordedContract(sglang, {
  release,
  failures: {
    'bad-value': ['unsupported_setting', "argument --max-running-requests: invalid int value: 'many'"],
    'context-beyond-model': ['unsupported_setting', 'context_length (100000) is greater', { context_length: 40960 }],
    'fraction-099-huge-context': ['out_of_memory', 'CUDA out of memory. Tried to allocate 1.36 GiB'],
    'fraction-too-small': ['out_of_memory', 'Not enough memory'],
    'impossible-backend': ['unsupported_setting', 'only supported on Blackwell GPUs'],
    'kv-too-small': ['out_of_memory', 'exceeds the maximum allowed length (58 tokens)'],
    'no-such-model': ['start_failed', 'Repo id must be in the form'],
    'port-in-use': ['start_failed', 'address already in use'],
    'tp2-on-one-gpu': ['unsupported_setting', 'invalid device ordinal'],
    'unknown-backend': ['unsupported_setting', "argument --attention-backend: invalid choice: 'NO_SUCH'"],
    'unknown-flag': ['unsupported_setting', 'unrecognized arguments: --no-such-flag'],
  },
  lastWords: 'Watchdog timeout (self.watchdog_timeout=300)',
  settingsInForce: {
    attention_backend: 'fa3',
    gpu_memory_fraction: '0.903',
    kv_cache_dtype: 'torch.bfloat16',
    cuda_graph_sizes: expect.stringMatching(/^1, 2, 4, .*, 256$/),
    kv_cache_tokens: '642870',
    chunked_prefill_size: '8192',
    max_batched_tokens: '16384',
    max_running_requests: '4096',
    context_length: '40960',
    available_gpu_memory_gb: '10.93',
    max_concurrency: '15.70',
  },
  start: {
    readyLine: 'fired up',
    readyS: 50.793,
    // Weights from 19.557 to the first recording at 19.835; the scheduler was ready at 48.886.
    parts: { starting: 19.557, loading: 0.278, 'warming up': 1.907 },
    longerThanS: { compiling: 5, capturing: 5 },
  },
  absentCounters: ['preemptions'], // nothing was taken back; until then the counter is not there
});

it.each([
  // Words of 0.5.5.post1, from its sources.
  [
    'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.1',
    'out_of_memory',
  ],
  [
    'ValueError: TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different backend.',
    'unsupported_setting',
  ],
  [
    'AssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend flashinfer`.',
    'unsupported_setting',
  ],
  [
    'ValueError: The arguments enable-hierarchical-cache and disable-radix-cache are mutually exclusive and cannot be used at the same time. Please use only one of them.',
    'unsupported_setting',
  ],
  ['AssertionError: 40 is not divisible by 3', 'unsupported_setting'],
  ['Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.00 GiB', 'out_of_memory'],
  ['Exception: Capture cuda graph failed: something else', 'start_failed'],
  [
    'ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 80. Current capability: 75.',
    'unsupported_setting',
  ],
] as const)('knows %j', (line, fate) => {
  // biome-ignore format: messages as they are
  const found = failureIn(sglang, ['[2025-11-20 09:00:00] Scheduler hit an exception: Traceback (most recent call last):', line,
    '[2025-11-20 09:00:00] Received sigquit from a child process. It usually means the child failed.']);
  expect(found.fate).toBe(fate);
  expect(found.failure.message).toContain(line);
});

it('takes the same words about the context for no failure where they only warn', () => {
  const warning =
    '[2026-11-30 09:14:19] Warning: User-specified context_length (4000000) is greater than the derived context_length (40960).';
  expect(failureIn(sglang, [warning, 'torch.OutOfMemoryError: CUDA out of memory.']).fate).toBe('out_of_memory');
});

describe('the log of SGLang', () => {
  it('prefers the backend in force to the one that was chosen first', () => {
    const chosen = 'Attention backend not explicitly specified. Use flashinfer backend by default.';
    const inForce =
      "server_args=ServerArgs(model_path='m', attention_backend='triton', prefill_attention_backend='fa4')";
    expect(sglang.settingsInLog?.([chosen])).toEqual({ attention_backend: 'flashinfer' });
    expect(sglang.settingsInLog?.([chosen, inForce])).toEqual({ attention_backend: 'triton' });
    expect(sglang.settingsInLog?.([])).toEqual({});
  });
});

it('says nothing of its compile cache: a start that finds its graphs says that it compiled them, too', () => {
  const compiled = /Compiling a graph for dynamic shape takes/;
  for (const name of ['start-small', 'start-sigint-idle']) {
    expect(recordedLog(`${release}/logs/${name}.log`).some((line) => compiled.test(line))).toBe(true);
  }
  expect(sglang.compileCache).toBeUndefined();
});
