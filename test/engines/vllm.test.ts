import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { vllm } from '../../src/engines/vllm.ts';
import { classify } from '../../src/study/failure.ts';

const command = (settings: Record<string, string | number | boolean>, version?: string) =>
  vllm.command({ model: 'Qwen/Qwen3-14B', port: 8000, settings, ...(version ? { version } : {}) });
const base = ['--host', '127.0.0.1', '--port', '8000'];

describe('the command of vLLM', () => {
  it('takes the checkpoint that a quantization names, or converts at load', () => {
    expect(command({ quantization: 'fp8' }).argv).toEqual(['vllm', 'serve', 'Qwen/Qwen3-14B-FP8', ...base]);
    expect(command({ quantization: 'fp8_online' }).argv).toEqual([
      'vllm', 'serve', 'Qwen/Qwen3-14B', ...base, '--quantization', 'fp8',
    ]); // biome-ignore format: a command line
  });

  it('chooses the attention backend the way its version understands', () => {
    expect(command({ attention_backend: 'flashinfer' }, '0.11.0').env).toEqual({
      VLLM_ATTENTION_BACKEND: 'FLASHINFER',
    });
    const newer = command({ attention_backend: 'flashinfer' }, '0.20.1');
    expect(newer.env).toEqual({});
    expect(newer.argv.slice(-2)).toEqual(['--attention-backend', 'FLASHINFER']);
  });

  it('passes switches without a value', () => {
    const { argv } = command({ prefix_caching: false, chunked_prefill: true, cuda_graphs: false });
    expect(argv.slice(-3)).toEqual(['--no-enable-prefix-caching', '--enable-chunked-prefill', '--enforce-eager']);
  });

  it('refuses fewer batched tokens than sequences', () => {
    const problems = vllm.conflicts(
      { max_running_requests: 512, max_batched_tokens: 256 },
      { model: 'm', concurrency: 1 },
    );
    expect(problems.map((p) => p.place)).toEqual(['max_batched_tokens']);
  });
});

/** What a real vLLM 0.25.1 said on an H200; see the README beside it. */
const recorded = resolve(import.meta.dirname, '../fixtures/engines/vllm-0.25.1');

describe('the driver of vLLM against recordings of a real one', () => {
  it('passes only flags that its full help names', () => {
    const help = readFileSync(join(recorded, 'help/serve-help-all.txt'), 'utf8');
    const everything = {
      quantization: 'fp8_online',
      attention_backend: 'flash_attn',
      kv_cache_dtype: 'fp8',
      max_running_requests: 8,
      max_batched_tokens: 64,
      context_length: 64,
      gpu_memory_fraction: 0.5,
      prefix_caching: true,
      chunked_prefill: true,
      tensor_parallel: 1,
      cuda_graphs: false,
    };
    expect(Object.keys(everything).sort()).toEqual(Object.keys(vllm.settings.shape).sort());
    const flags = command(everything, '0.25.1').argv.filter((word) => word.startsWith('--'));
    expect(flags.filter((flag) => !help.includes(flag))).toEqual([]);
  });

  it.each([
    ['unknown-flag', 'unsupported_setting'],
    ['unknown-backend', 'unsupported_setting'],
    ['impossible-backend', 'unsupported_setting'],
    ['bad-value', 'unsupported_setting'],
    ['context-beyond-model', 'unsupported_setting'],
    ['tp2-on-one-gpu', 'unsupported_setting'],
    ['fraction-too-small', 'out_of_memory'],
    ['kv-too-small', 'out_of_memory'],
    ['fraction-099-huge-context', 'out_of_memory'],
    ['memory-taken', 'out_of_memory'],
    ['no-such-model', 'start_failed'],
    ['port-in-use', 'start_failed'],
  ] as const)('gives the failed start %s the fate %s', (name, fate) => {
    const lines = readFileSync(join(recorded, `logs/fail-${name}.log`), 'utf8')
      .split('\n')
      .slice(1);
    const failure = classify(vllm, { fate: 'start_failed', message: 'ended' }, lines);
    expect(failure.fate).toBe(fate);
    expect(failure.failure.message).not.toBe('ended');
    expect(failure.portTaken ?? false).toBe(name === 'port-in-use');
  });

  it.each(['small', '14b', 'sigterm-idle'])('finds nothing wrong in the log of a good start (%s)', (name) => {
    const lines = readFileSync(join(recorded, `logs/start-${name}.log`), 'utf8')
      .split('\n')
      .slice(1);
    expect(classify(vllm, { fate: 'hung', message: 'quiet' }, lines).failure.message).toBe('quiet');
  });
});
