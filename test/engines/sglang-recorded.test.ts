import { describe, expect, it } from 'vitest';
import { sglang } from '../../src/engines/sglang.ts';
import { classify } from '../../src/study/failure.ts';
import { partClock } from '../../src/study/start-watch.ts';
import { recordedLog, recordedLogs, recordedText } from './recorded.ts';

const engine = 'sglang-0.5.11';
const failure = (lines: readonly string[]) => classify(sglang, { fate: 'start_failed', message: 'ended' }, lines);

/** Of each recorded failure the fate, the words that tell the cause, and what would have worked where SGLang says so. */
const failures = {
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
} as const;

describe('a recorded failure of SGLang', () => {
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
  const found = failure(['[2025-11-20 09:00:00] Scheduler hit an exception: Traceback (most recent call last):', line,
    '[2025-11-20 09:00:00] Received sigquit from a child process. It usually means the child failed.']);
  expect(found.fate).toBe(fate);
  expect(found.failure.message).toContain(line);
});

it('takes the same words about the context for no failure where they only warn', () => {
  const warning =
    '[2026-11-30 09:14:19] Warning: User-specified context_length (4000000) is greater than the derived context_length (40960).';
  expect(failure([warning, 'torch.OutOfMemoryError: CUDA out of memory.']).fate).toBe('out_of_memory');
});

it('calls a watchdog that ends it under load a crash under load', () => {
  const lines = ['Watchdog timeout (self.watchdog_timeout=300)'];
  expect(classify(sglang, { fate: 'crashed_under_load', message: 'died' }, lines).fate).toBe('crashed_under_load');
});

it.each(recordedLogs(engine, 'start-'))('finds nothing wrong in a good start: %s', (name) => {
  const found = classify(sglang, { fate: 'hung', message: 'quiet' }, recordedLog(`${engine}/logs/${name}`));
  expect([found.fate, found.failure.hint]).toEqual(['hung', undefined]);
});

describe('the log of SGLang', () => {
  it('tells the settings in force', () => {
    expect(sglang.settingsInLog?.(recordedLog(`${engine}/logs/start-14b.log`))).toEqual({
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
    });
  });

  it('prefers the backend in force to the one that was chosen first', () => {
    const chosen = 'Attention backend not explicitly specified. Use flashinfer backend by default.';
    const inForce =
      "server_args=ServerArgs(model_path='m', attention_backend='triton', prefill_attention_backend='fa4')";
    expect(sglang.settingsInLog?.([chosen])).toEqual({ attention_backend: 'flashinfer' });
    expect(sglang.settingsInLog?.([chosen, inForce])).toEqual({ attention_backend: 'triton' });
    expect(sglang.settingsInLog?.([])).toEqual({});
  });

  it('shows how long each part of the start took', () => {
    const clock = partClock(sglang.startParts ?? [], 0);
    let atS = 0;
    for (const line of recordedText(`${engine}/logs/start-14b.log`).split('\n')) {
      const [, seconds, text = line] = /^ *(\d+\.\d{3}) (.*)/.exec(line) ?? [];
      atS = seconds === undefined ? atS : Number(seconds);
      clock.line(text, atS);
      if (text.includes('fired up')) break;
    }
    const parts = clock.times(50.793);
    // Weights from 19.557 to the first recording at 19.835; the scheduler was ready at 48.886.
    expect(parts).toMatchObject({ starting: 19.557, loading: 0.278, 'warming up': 1.907 });
    expect(parts.compiling).toBeGreaterThan(5);
    expect(parts.capturing).toBeGreaterThan(5);
  });
});

describe('the counters of SGLang', () => {
  it('are among its metrics', () => {
    const served = new Set(recordedText(`${engine}/metrics-after-load.txt`).match(/^sglang:\w+/gm));
    const named = Object.entries(sglang.counters?.names ?? {});
    const absent = named.filter(([, names]) => !names.some((name) => served.has(name))).map(([name]) => name);
    // Nothing was taken back; until then the counter is not there.
    expect(absent).toEqual(['preemptions']);
  });
});
