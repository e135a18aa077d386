import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleepMs } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { sglang } from '../../src/engines/sglang.ts';
import { tensorrtLlm } from '../../src/engines/tensorrt-llm.ts';
import { vllm } from '../../src/engines/vllm.ts';
import { freePort } from '../../src/processes/ports.ts';
import type { Counters } from '../../src/records/counters.ts';
import { simulate } from '../../src/simulator/simulate.ts';
import { readCounters } from '../../src/telemetry/counters.ts';
import { eventually } from '../processes/living.ts';
import { eventsOf, send, sendAndLeave, sendJson, until } from '../serving/requests.ts';
import { able, load } from '../simulator/machines.ts';
import { folder, type Running, servetune, start } from './command.ts';

const running: Running[] = [];
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

const signal = AbortSignal.timeout(600_000);

interface Serving extends Running {
  readonly port: number;
  readonly url: string;
}

/** A simulated engine in a process of its own. */
async function serve(...more: string[]): Promise<Serving> {
  const port = await freePort();
  const model = more.includes('--model') ? [] : ['--model', 'Qwen/Qwen3-14B'];
  const gpu = more.includes('--gpu') ? [] : ['--gpu', 'H100'];
  const one = start(['sim', 'serve', ...model, ...gpu, '--port', String(port), ...more]);
  running.push(one);
  await eventually(() => one.stderr().includes('listening on') || one.child.exitCode !== null, 60);
  expect(one.stderr()).toContain('listening on');
  return { ...one, port, url: `http://127.0.0.1:${port}` };
}

const ask = { prompt: 'Once upon a time there was a scheduler', max_tokens: 5, ignore_eos: true };
const figure = (block: string, label: string): number =>
  Number(new RegExp(`^${label.replace(/[()/]/g, '\\$&')}\\s+(\\S+)`, 'm').exec(block)?.[1]);

describe('servetune sim serve', () => {
  it('answers whole and streamed, and says everywhere that it is simulated', async () => {
    const { url, stderr, child, ended } = await serve('--time-scale', '20', '--engine', 'vllm@0.11.0');
    expect(stderr().split('\n')[0]).toBe(
      'simulated: vllm@0.11.0 with Qwen/Qwen3-14B on H100 SXM, 20 x real time; no figure from here was measured',
    );
    expect(stderr()).toContain('uncalibrated');
    expect(stderr()).toContain('guessed');

    const whole = await send(`${url}/v1/completions`, { body: ask });
    expect(whole.headers['x-servetune-simulated']).toBe('true');
    expect(whole.headers['x-servetune-prompt-tokens']).toBe('guessed');
    const { choices, usage } = JSON.parse(whole.text);
    expect(choices[0].text.trim().split(' ')).toHaveLength(5);
    expect(choices[0].finish_reason).toBe('length');
    expect(usage).toEqual({
      prompt_tokens: 9,
      completion_tokens: 5,
      total_tokens: 14,
      prompt_tokens_details: { cached_tokens: 0 },
    });
    const chat = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 4, ignore_eos: true, stream: true };
    const { text } = await send(`${url}/v1/chat/completions`, {
      body: { ...chat, stream_options: { include_usage: true } },
    });
    const events = eventsOf(text);
    expect(events.at(-1)).toBe('[DONE]');
    expect(events.filter((event) => event.choices?.[0]?.delta?.content).length).toBe(4);
    expect(events.at(-2).usage).toMatchObject({ completion_tokens: 4, prompt_tokens_details: { cached_tokens: 0 } });

    expect((await sendJson(`${url}/v1/models`)).json.data[0]).toMatchObject({
      id: 'Qwen/Qwen3-14B',
      owned_by: 'simulated vllm',
      max_model_len: 40960,
      simulated: true,
    });
    expect((await sendJson(`${url}/version`)).json).toEqual({ version: '0.11.0+simulated' });
    expect((await sendJson(`${url}/health`)).status).toBe(200);
    expect((await sendJson(`${url}/tokenize`, { prompt: 'one two three' })).json).toMatchObject({ count: 3 });
    expect((await sendJson(`${url}/detokenize`, { tokens: [1] })).status).toBe(501);
    expect((await send(`${url}/no-such-path`)).headers['x-servetune-simulated']).toBe('true');
    const metrics = await send(`${url}/metrics`);
    expect(metrics.text).toMatch(/^# simulated/);
    expect(metrics.text).toContain('\nservetune_simulated 1\n');
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  });

  it.each([
    ['vllm', vllm],
    ['sglang', sglang],
  ] as const)('is asked as %s is: counters, cache reset, settings in force', async (name, engine) => {
    const settings = ['--setting', 'kv_cache_dtype=fp8_e5m2', '--setting', 'max_running_requests=7'];
    const { url } = await serve('--engine', name, '--time-scale', '20', ...settings);
    const base = new URL(url);
    const long = { ...ask, prompt: 'the cat sat on the mat '.repeat(40) };
    const cachedOf = async (): Promise<number> =>
      (await sendJson(`${url}/v1/completions`, long)).json.usage.prompt_tokens_details.cached_tokens;
    expect(await cachedOf()).toBe(0);
    expect(await cachedOf()).toBe(240);
    const [counted] = await readCounters(engine.counters as Counters, base, signal);
    expect(counted).toMatchObject({ running: 0, waiting: 0, kvUseShare: 0, preemptions: 0 });
    expect(counted).toMatchObject({ prefixQueries: 482, prefixHits: 240 });
    await engine.resetCache?.(base, signal);
    expect(await cachedOf()).toBe(0);

    const told = await engine.effectiveSettings?.(base, signal);
    expect(told).toMatchObject({ kv_cache_dtype: 'fp8', ...(name === 'sglang' ? { max_running_requests: '7' } : {}) });
  });

  it('lists iterations as TensorRT-LLM does, once each, and drafts where it is told to', async () => {
    const drafts = ['--setting', 'speculative_method=ngram', '--setting', 'speculative_tokens=3'];
    const { url } = await serve('--engine', 'tensorrt-llm', '--time-scale', '20', '--acceptance', '0.9', ...drafts);
    await sendJson(`${url}/v1/completions`, { ...ask, max_tokens: 200 });
    const read = await readCounters(tensorrtLlm.counters as Counters, new URL(url), signal);
    const sum = (of: 'draftTokens' | 'acceptedTokens'): number =>
      read.reduce((total, one) => total + (one[of] ?? 0), 0);
    expect(sum('draftTokens')).toBe(3 * (read.length - 1));
    expect(sum('acceptedTokens') / sum('draftTokens')).toBeGreaterThan(0.6);
    expect(read.at(-1)).toMatchObject({ running: 0, waiting: 0, kvUseShare: 0 });
    expect(await readCounters(tensorrtLlm.counters as Counters, new URL(url), signal)).toEqual([]);
    expect((await send(`${url}/prometheus/metrics`)).text).toContain('trtllm_num_requests_running');
  });

  it('gives up a request whose client is gone', async () => {
    const { url } = await serve('--engine', 'vllm');
    await sendAndLeave(`${url}/v1/completions`, { ...ask, max_tokens: 4000, stream: true });
    const counted = async () => (await readCounters(vllm.counters as Counters, new URL(url), signal))[0];
    await until(async () => (await counted())?.running === 0);
    expect(await counted()).toMatchObject({ kvUseShare: 0 });
  });

  it('takes the shape and the tokenizer of a folder', async () => {
    const model = join(import.meta.dirname, '../../assets/tiny-qwen3');
    const { code, stderr } = await servetune(['sim', 'serve', '--model', model, '--gpu', 'H100']);
    expect(code).toBe(2);
    expect(stderr).toContain('has no config.json');
    const { url } = await serve('--tokenizer', model, '--served-model-name', 'small', '--time-scale', '20');
    const { json } = await sendJson(`${url}/v1/completions`, { ...ask, model: 'small', prompt: 'hello there' });
    const { json: tokens } = await sendJson(`${url}/tokenize`, { prompt: 'hello there' });
    expect(json.usage.prompt_tokens).toBe(tokens.count);
    expect((await sendJson(`${url}/detokenize`, { tokens: tokens.tokens })).json.prompt).toBe('hello there');
  });

  it('names everything that is wrong with its input at once', async () => {
    const { code, stderr } = await servetune([
      'sim', 'serve', '--model', '/no/such/model', '--gpu', 'abacus', '--engine', 'vllm', '--gpus', '2',
      '--setting', 'quantisation=fp8', 'kv_cache_dtype=fp3', 'max_running_requests', '--fail', 'explode@1',
      '--tokenizer', '/no/such/tokenizer.json',
    ]); // biome-ignore format: a command line
    expect(code).toBe(2);
    expect(stderr).toContain('--model: the shape of /no/such/model is not known');
    expect(stderr).toContain('--gpu: there are no figures of “abacus”');
    expect(stderr).toContain('--setting quantisation: vllm has no such setting');
    expect(stderr).toContain('did you mean quantization?');
    expect(stderr).toContain('--setting kv_cache_dtype:');
    expect(stderr).toContain('--setting max_running_requests: has no value');
    expect(stderr).toContain('--fail: “explode@1” is no failure');
    expect(stderr).toContain('--tokenizer: /no/such/tokenizer.json');
  });

  it('refuses what the engine would not start with', async () => {
    const none = await servetune([
      'sim',
      'serve',
      '--model',
      'Qwen/Qwen3-32B',
      '--gpu',
      'RTX 4090',
      '--engine',
      'vllm',
    ]);
    expect(none.code).toBe(2);
    expect(none.stderr).toContain('vllm would not start: weights of');
    const other = ['sim', 'serve', '--model', 'Qwen/Qwen3-14B', '--gpu', 'H100'];
    const unknown = await servetune([...other, '--engine', 'llama.cpp']);
    expect(unknown.stderr).toContain('“llama.cpp” cannot be simulated');
    const few = await servetune([...other, '--gpus', '2', '--setting', 'tensor_parallel=4']);
    expect(few.stderr).toContain('tensor_parallel needs 4 GPUs');
  });
});

describe('sim serve, told to fail', () => {
  it('dies: streams break, and the process is gone', async () => {
    const { url, ended, stderr } = await serve('--fail', 'die@2');
    const first = send(`${url}/v1/completions`, { body: { ...ask, max_tokens: 2000, stream: true } }).then(
      () => 'ended',
      () => 'broken',
    );
    await until(async () => /num_requests_running\{.*\} 1$/m.test((await send(`${url}/metrics`)).text));
    await expect(send(`${url}/v1/completions`, { body: ask })).rejects.toThrow();
    expect(await first).toBe('broken');
    expect((await ended).code).toBe(1);
    expect(stderr()).toContain('dying of die@2');
  });

  it('hangs: no token comes any more, and health stays good', async () => {
    const { url } = await serve('--time-scale', '20', '--fail', 'hang@2');
    expect((await send(`${url}/v1/completions`, { body: ask })).status).toBe(200);
    const outcome = send(`${url}/v1/completions`, { body: ask }).then(
      () => 'ended',
      () => 'broken',
    );
    expect(await Promise.race([outcome, sleepMs(1000, 'silent')])).toBe('silent');
    expect((await send(`${url}/health`)).status).toBe(200);
  });

  it('refuses one request, and only that', async () => {
    const { url } = await serve('--time-scale', '20', '--fail', 'refuse@2');
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await send(`${url}/v1/completions`, { body: ask })).status);
    expect(statuses).toEqual([200, 503, 200]);
  });

  it('stalls for as long as it is told, over its route too', async () => {
    const { url } = await serve('--time-scale', '20', '--fail', 'stall@1:0.7');
    const timed = async (): Promise<number> => {
      const began = performance.now();
      expect((await send(`${url}/v1/completions`, { body: ask })).status).toBe(200);
      return (performance.now() - began) / 1000;
    };
    expect(await timed()).toBeGreaterThan(0.7);
    const planned = await send(`${url}/sim/fail`, { body: 'stall@+1:0.5, refuse@3' });
    expect(JSON.parse(planned.text)).toEqual({ simulated: true, requests: 1, to_come: ['stall@2:0.5', 'refuse@3'] });
    expect(await timed()).toBeGreaterThan(0.5);
    expect((await send(`${url}/v1/completions`, { body: ask })).status).toBe(503);
    expect((await sendJson(`${url}/sim/fail`)).json).toEqual({ simulated: true, requests: 3, to_come: [] });
    const wrong = await send(`${url}/sim/fail`, { body: 'die@2' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('has come already');
  });
});

describe('bench serve against it', () => {
  const lengths = ['--random-input-len', '64', '--random-output-len', '32'];
  const count = ['--num-prompts', '200', '--max-concurrency', '40', '--num-warmups', '40'];

  // Both share a machine that runs tests: what is late there is late here.
  it('measures what the simulation predicts, within 10 %, and says that it is simulated', { retry: 5 }, async () => {
    const scale = 5;
    // A prompt that was sent to warm up would be cached.
    const settings = { context_length: 4096, prefix_caching: false };
    const given = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    const machine = ['--model', 'Qwen/Qwen3-32B', '--gpu', 'A100', '--setting', ...given];
    const { port } = await serve(...machine, '--time-scale', String(scale), '--tokenizer', 'tiny-qwen3');
    const dir = folder();
    const result = ['--save-result', '--result-dir', dir, '--result-filename', 'r.json', '--allow-client-bound'];
    const { stdout, stderr } = await servetune([
      ...[
        'bench',
        'serve',
        '--port',
        String(port),
        '--tokenizer',
        join(import.meta.dirname, '../../assets/tiny-qwen3'),
      ],
      ...[...lengths, ...count, ...result],
    ]);
    expect(stderr).not.toContain('fault of servetune');
    const [first, second] = stdout.split('\n');
    expect(first).toContain('simulated: the server is servetune sim serve');
    expect(first).toContain('5 x as fast');
    expect(second).toContain('SIMULATED Serving Benchmark Result');
    expect(JSON.parse(readFileSync(join(dir, 'r.json'), 'utf8'))).toMatchObject({
      simulated: true,
      simulated_time_scale: scale,
    });
    expect(figure(stdout, 'Total input tokens:')).toBe(200 * 64);
    expect(figure(stdout, 'Total generated tokens:')).toBe(200 * 32);

    const { spec } = able('vllm', settings, 'A100', 'Qwen/Qwen3-32B');
    const predicted = (200 * (64 + 32)) / simulate(spec, load(200, 64, 32, 0, 40)).durationS;
    const measured = figure(stdout, 'Total token throughput (tok/s):') / scale;
    expect(measured / predicted).toBeGreaterThan(0.9);
    expect(measured / predicted).toBeLessThan(1.1);
  });

  it('leaves the block of vLLM as it is in its modes', async () => {
    const { port } = await serve('--time-scale', '20');
    const few = ['--num-prompts', '4', '--random-input-len', '8', '--random-output-len', '4'];
    const { stdout, stderr } = await servetune([
      ...['bench', 'serve', '--compat', 'vllm-0.11.0', '--port', String(port), '--dataset-name', 'random', ...few],
    ]);
    expect(stderr).toContain('simulated: the server is servetune sim serve');
    expect(stdout).toContain('============ Serving Benchmark Result ============');
    expect(stdout).not.toMatch(/simulated/i);
  });
});
