import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../../src/kit/errors.ts';
import { newCounters } from '../../../src/serving/counters.ts';
import { simulatedClock } from '../../../src/simulator/serving/clock.ts';
import { createFailures, readFailures, wordsOf } from '../../../src/simulator/serving/failures.ts';
import { sglangMetrics, vllmMetrics } from '../../../src/simulator/serving/metrics.ts';
import { createPrefixCache } from '../../../src/simulator/serving/prefix-cache.ts';
import { countedPrompts, guessedPrompts } from '../../../src/simulator/serving/prompts.ts';
import { newTallies } from '../../../src/simulator/serving/state.ts';
import { parsePrometheus } from '../../../src/telemetry/prometheus.ts';
import { bundledTokenizer } from '../../../src/tokenizers/bundled.ts';

describe('the clock', () => {
  it('runs at its scale, and stands still through pauses, which add up where they overlap', () => {
    let realS = 100;
    const clock = simulatedClock(4, () => realS);
    realS = 101;
    expect(clock.nowS()).toBe(4);
    expect(clock.untilS(6)).toBe(0.5);
    clock.pause(2);
    realS = 102;
    clock.pause(3);
    realS = 104;
    expect(clock.nowS()).toBe(4);
    expect(clock.untilS(6)).toBe(1.5);
    realS = 106;
    expect(clock.nowS()).toBe(8);
    clock.pause(Number.POSITIVE_INFINITY);
    realS = 1e6;
    expect(clock.nowS()).toBe(8);
    expect(clock.untilS(9)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('the prefix cache', () => {
  const prompt = (...tokens: number[]): Uint32Array => Uint32Array.from(tokens);
  const run = (from: number, length: number): number[] => Array.from({ length }, (_, i) => from + i);

  it('finds whole blocks as far as prompts are equal, less the last token', () => {
    const cache = createPrefixCache(16);
    const first = cache.prefixOf(prompt(...run(0, 64)));
    expect(cache.cachedTokens(first)).toBe(0);
    cache.hold(first);
    expect(cache.cachedTokens(first)).toBe(48);
    expect(cache.cachedTokens(cache.prefixOf(prompt(...run(0, 65))))).toBe(48);
    expect(cache.cachedTokens(cache.prefixOf(prompt(...run(0, 40), ...run(500, 40))))).toBe(32);
    // The same tokens behind others are not the same.
    expect(cache.cachedTokens(cache.prefixOf(prompt(...run(16, 48))))).toBe(0);
  });

  it('keeps what is held, and gives up what was used longest ago, ends first', () => {
    const cache = createPrefixCache(16);
    const [a, b] = [cache.prefixOf(prompt(...run(0, 49))), cache.prefixOf(prompt(...run(1000, 49)))];
    cache.hold(a);
    cache.hold(b);
    cache.release(a);
    cache.fit(32);
    expect([cache.cachedTokens(a), cache.cachedTokens(b), cache.idleTokens]).toEqual([32, 48, 32]);
    cache.release(b);
    cache.fit(48);
    expect([cache.cachedTokens(a), cache.cachedTokens(b)]).toEqual([0, 48]);
    cache.reset();
    expect(cache.cachedTokens(b)).toBe(0);
  });

  it('counts the users of a block', () => {
    const cache = createPrefixCache(16);
    const a = cache.prefixOf(prompt(...run(0, 33)));
    cache.hold(a);
    cache.hold(a);
    cache.release(a);
    cache.fit(0);
    expect(cache.cachedTokens(a)).toBe(32);
    cache.release(a);
    cache.fit(0);
    expect(cache.cachedTokens(a)).toBe(0);
  });

  it('takes blocks of 16 where an engine has single tokens', () => {
    const cache = createPrefixCache(1);
    const a = cache.prefixOf(prompt(...run(0, 40)));
    cache.hold(a);
    expect(cache.cachedTokens(a)).toBe(32);
  });
});

describe('failures', () => {
  it('are read, written and come once, each at its request', () => {
    const words = ['die@3', 'stall@1:2.5', 'refuse@2', 'hang@2'];
    const failures = createFailures();
    failures.plan(readFailures(words, '--fail'));
    expect(failures.toCome).toEqual(words);
    expect([1, 2, 3, 4].map(() => failures.next().map(wordsOf))).toEqual([
      ['stall@1:2.5'],
      ['refuse@2', 'hang@2'],
      ['die@3'],
      [],
    ]);
    expect(failures.requests).toBe(4);
    expect(readFailures(['die@+2'], 'body', 4).map(wordsOf)).toEqual(['die@6']);
  });

  it('are refused all at once', () => {
    const words = ['die', 'stall@1', 'refuse@1:2', 'die@0', 'explode@1', 'hang@2'];
    try {
      readFailures(words, '--fail');
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(InputError);
      const { problems } = error as InputError;
      expect(problems.map(({ message }) => message)).toEqual([
        '“die” is no failure',
        '“stall@1” does not say for how many seconds',
        '“refuse@1:2” has seconds, which only stall has',
        '“die@0” is for a request that never comes: they count from 1',
        '“explode@1” is no failure',
      ]);
    }
    expect(() => readFailures(['die@4'], 'body', 4)).toThrow('there were 4');
  });
});

describe('prompt tokens', () => {
  it('are guessed near a real vocabulary’s number, and equal beginnings have equal ids', async () => {
    const text =
      'The scheduler decides, step by step, which requests are computed. A request that arrives while a step is under way has to wait for its end, which takes some 20 milliseconds.';
    const { tokenize } = guessedPrompts(1000);
    const ids = await tokenize(text, true);
    // 36 by Qwen3's vocabulary.
    expect(ids.length).toBeGreaterThan(30);
    expect(ids.length).toBeLessThan(43);
    expect([...(await tokenize(`${text} More.`, true))].slice(0, ids.length)).toEqual([...ids]);
    expect(Math.max(...ids)).toBeLessThan(1000);
    expect(await tokenize('推理引擎', true)).toHaveLength(4);
    expect(await tokenize('incomprehensibilities', true)).toHaveLength(3);
  });

  it('are counted with a vocabulary, and come back as text', async () => {
    const tokenizer = await bundledTokenizer();
    const { tokenize, detokenize, chatPrompt, counted } = countedPrompts(tokenizer);
    const [ids] = await tokenizer.encode(['hello there']);
    expect([...(await tokenize('hello there', true))]).toEqual(ids);
    expect(await detokenize(Uint32Array.from(ids ?? []))).toBe('hello there');
    expect(await detokenize(await chatPrompt([{ role: 'user', content: 'hello there' }]))).toBe(
      'user: hello there\nassistant:',
    );
    expect(counted).toBe(true);
  });
});

describe('metrics', () => {
  const state = {
    ...newTallies(),
    prefixQueries: 100,
    prefixHits: 25,
    drafts: 10,
    draftedTokens: 30,
    acceptedTokens: 15,
    running: 3,
    waiting: 2,
    kvTokensUsed: 400,
    kvTokens: 1600,
    preemptions: 1,
    behindS: 0,
  };
  const observed = { model: 'a "b"\\', state, counters: newCounters(), blockTokens: 16, drafting: true };
  const families = (text: string): string[] => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string);
  const recorded = (engine: string): Set<string> => {
    const folder = join(import.meta.dirname, '../../fixtures/engines', engine);
    const files = readdirSync(folder).filter((name) => /^metrics-.*\.txt$/.test(name));
    const texts = files.map((name) => readFileSync(join(folder, name), 'utf8'));
    // One of them was kept without its comments.
    return new Set(texts.flatMap((text) => [...families(text), ...parsePrometheus(text).map(({ name }) => name)]));
  };

  it('have the names and kinds of vLLM', () => {
    const text = vllmMetrics(observed);
    const names = recorded('vllm-0.25.1');
    const unknown = families(text).filter((name) => name.startsWith('vllm:') && !names.has(name));
    // Recorded without speculative decoding; the names are those that the engine's own counters are read by.
    expect(unknown.filter((name) => !name.startsWith('vllm:spec_decode_num_'))).toEqual([]);
    const value = (name: string) => parsePrometheus(text).find((sample) => sample.name === name);
    expect(value('vllm:kv_cache_usage_perc')?.value).toBe(0.25);
    expect(value('vllm:kv_cache_usage_perc')?.labels.get('model_name')).toBe('a "b"\\');
    expect(value('vllm:prefix_cache_hits_total')?.value).toBe(25);
    expect(value('vllm:spec_decode_num_accepted_tokens_total')?.value).toBe(15);
    expect(value('servetune_simulated')?.value).toBe(1);
    expect(text).toMatch(/^# simulated/);
  });

  it('have the names and kinds of SGLang', () => {
    const text = sglangMetrics(observed);
    const names = recorded('sglang-0.5.11');
    expect(families(text).filter((name) => name.startsWith('sglang:') && !names.has(name))).toEqual([]);
    const value = (name: string) => parsePrometheus(text).find((sample) => sample.name === name)?.value;
    expect(value('sglang:token_usage')).toBe(0.25);
    expect(value('sglang:cache_hit_rate')).toBe(0.25);
    expect(value('sglang:spec_accept_length')).toBe(2.5);
    expect(value('sglang:num_retracted_requests_total')).toBe(1);
  });
});
