import { describe, expect, it } from 'vitest';
import { vllm } from '../../src/engines/vllm.ts';

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
