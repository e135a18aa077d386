import { describe, expect, it } from 'vitest';
import type { Symptom } from '../../src/engines/engine.ts';
import { changedSettings, classify, endedEarly } from '../../src/study/failure.ts';

const symptoms: readonly Symptom[] = [
  {
    pattern: /estimated maximum model length is (\d+)/,
    fate: 'out_of_memory',
    hint: 'lower context_length',
    corrected: ([, length]) => ({ context_length: Number(length) }),
  },
  { pattern: /died/, fate: 'start_failed', hint: 'look' },
];
const early = { fate: 'start_failed' as const, message: 'it ended' };
const wrapper = 'RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}';

describe('the name of a failure', () => {
  it('quotes the line that tells the cause with two around it, and never what wraps it', () => {
    const log = ['a', 'b', 'c', 'the estimated maximum model length is 16320.', wrapper, 'd', 'e'];
    const { fate, failure } = classify({ symptoms }, early, log);
    expect(fate).toBe('out_of_memory');
    expect(failure.fragment).toEqual(['b', 'c', 'the estimated maximum model length is 16320.', 'd']);
    expect(failure.message).toBe('it ended: the estimated maximum model length is 16320.');
    expect(failure.suggestion).toEqual({ context_length: 16320 });
    expect(failure.hint).toBe('lower context_length; the engine suggests context_length=16320');
  });

  it('does not take the wrapper itself for a cause', () => {
    const wrapped: readonly Symptom[] = [{ pattern: /initialization failed/, fate: 'out_of_memory', hint: 'no' }];
    expect(classify({ symptoms: wrapped }, early, [wrapper]).fate).toBe('start_failed');
  });

  it('stays a crash under load when the log tells only that it ended', () => {
    const otherwise = { fate: 'crashed_under_load' as const, message: 'gone' };
    expect(classify({ symptoms }, otherwise, ['it died'])).toMatchObject({
      fate: 'crashed_under_load',
      failure: { message: 'gone: it died', hint: 'look' },
    });
  });

  it('quotes the last exception that wraps nothing where no symptom is known', () => {
    const log = ['ImportError: caught and forgotten', 'x', '(EngineCore pid=1) KeyError: qkv', 'y', wrapper, 'z'];
    const { fate, failure } = classify({ symptoms: [] }, early, log);
    expect(fate).toBe('start_failed');
    expect(failure.message).toBe('it ended: (EngineCore pid=1) KeyError: qkv');
    expect(failure.fragment).toEqual([
      'ImportError: caught and forgotten',
      'x',
      '(EngineCore pid=1) KeyError: qkv',
      'y',
    ]);
    expect(failure).not.toHaveProperty('suggestion');
  });

  it('is what the moment suggests where the log tells nothing', () => {
    expect(classify({ symptoms }, { ...early, hint: 'wait' }, ['fine', ''])).toEqual({
      fate: 'start_failed',
      failure: { message: 'it ended', hint: 'wait', logTail: ['fine', ''] },
    });
  });

  it('points at the memory of the system only where somebody killed it', () => {
    expect(endedEarly({ code: 137, signal: null }, 'exit code 137').hint).toContain('memory');
    expect(endedEarly({ code: null, signal: 'SIGKILL' }, 'signal SIGKILL').hint).toContain('memory');
    expect(endedEarly({ code: 1, signal: null }, 'exit code 1').hint).toBeUndefined();
  });
});

describe('what is different from the parent', () => {
  const parent = { engine: 'vllm', version: '0.11.0', settings: { max_running_requests: 256, dtype: 'auto' } };

  it('is each setting with its value before and after; null is a default', () => {
    const failed = { ...parent, settings: { max_running_requests: 512, quantization: 'fp8' } };
    expect(changedSettings(failed, parent)).toEqual([
      { name: 'max_running_requests', from: 256, to: 512 },
      { name: 'dtype', from: 'auto', to: null },
      { name: 'quantization', from: null, to: 'fp8' },
    ]);
  });

  it('is the engine first, and another version is another engine', () => {
    expect(changedSettings({ ...parent, version: '0.25.1' }, parent)).toEqual([
      { name: 'engine', from: 'vllm@0.11.0', to: 'vllm@0.25.1' },
    ]);
  });
});
