import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { random } from '../../src/datasets/random.ts';
import { type Compat, compatModes } from '../../src/records/compat.ts';
import { workloadOptions } from '../../src/records/workload.ts';
import { bundledTokenizer } from '../../src/tokenizers/bundled.ts';
import type { Replay } from '../load/replay.ts';
import { bench, block, figure, linesOf, savedIn, trouble } from './bench-runs.ts';
import { type Ended, folder } from './command.ts';
import { asked, type Body, bodies, openAiServer, refusal } from './openai-server.ts';

const vllmModes = compatModes.filter((mode) => mode !== 'servetune');
/** Modes that send one request before the load. */
const checking: readonly Compat[] = ['vllm-0.11.0', 'vllm-0.11.1'];
const count = 6;

/** What the dataset gives for the small load. */
async function prompts(compat: Compat): Promise<readonly string[]> {
  const options = workloadOptions.parse({ dataset_name: 'random', random_input_len: 20, random_output_len: 6, compat });
  const making = { tokenizer: await bundledTokenizer(), signal: AbortSignal.timeout(30_000), serverTemplates: false };
  const { requests } = await random.make(options, count, { ...making, cacheDir: folder() });
  return requests.map(({ prompt }) => prompt);
}

const configuration = 'date endpoint_type backend label model_id tokenizer_id num_prompts request_rate burstiness max_concurrency'; // biome-ignore format: one line
const figuresOf = (mode: Compat): string =>
  `duration completed ${mode === 'vllm-0.11.0' ? '' : 'failed '}total_input_tokens total_output_tokens request_throughput request_goodput output_throughput total_token_throughput`;
const latencies = ['ttft', 'tpot', 'itl'].flatMap((name) =>
  ['mean', 'median', 'std', 'p99'].map((what) => `${what}_${name}_ms`),
);
const newest = (mode: Compat): boolean => mode === 'vllm-2026-08' || mode === 'servetune';

describe.each(compatModes)('bench serve --compat %s', (mode) => {
  let server: Replay;
  let ended: Ended;
  let dir: string;
  let measured: readonly { readonly id: string; readonly body: Body }[];

  beforeAll(async () => {
    server = await openAiServer();
    dir = folder();
    ended = await bench(server, ['--compat', mode, '--save-result', '--result-dir', dir, '--max-concurrency', '3']);
    measured = asked(server).flatMap(({ headers, body }) =>
      headers['x-request-id'] === undefined ? [] : [{ id: String(headers['x-request-id']), body: JSON.parse(body) }],
    );
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('ends well', () => expect(trouble(ended)).toEqual([]));

  it('sends the prompts of the dataset, each under an id with its number', async () => {
    expect(measured).toHaveLength(count);
    const byIndex = new Map(measured.map(({ id, body }) => [Number(/(\d+)$/.exec(id)?.[1]), body.prompt]));
    expect(Array.from({ length: count }, (_, i) => byIndex.get(i))).toEqual(await prompts(mode));
    const prefix = mode === 'vllm-0.11.0' ? /^benchmark-serving\d$/ : /^bench-[0-9a-f]{8}-\d$/;
    for (const { id } of measured) expect(id).toMatch(prefix);
  });

  it('sends the body of that version', () => {
    const usual = { model: 'tiny-qwen3', max_tokens: 6, stream: true, stream_options: { include_usage: true } };
    const always = mode === 'servetune' ? {} : { repetition_penalty: 1, logprobs: null };
    const greedy = checking.includes(mode) ? { temperature: 0 } : {};
    // v0.11.0 pins nothing unless told to.
    const pinned = mode === 'vllm-0.11.0' ? {} : { ignore_eos: true };
    for (const { body } of measured) {
      expect(body).toEqual({ prompt: body.prompt, ...usual, ...always, ...greedy, ...pinned });
    }
  });

  it('sends as many requests as are measured, and one before where it checks', () => {
    expect(asked(server)).toHaveLength(count + (checking.includes(mode) ? 1 : 0));
    if (checking.includes(mode)) expect(bodies(server)[0]).toEqual(measured.find(({ id }) => id.endsWith('0'))?.body);
  });

  it('prints the block of that version', () => {
    const text = block(ended.stdout);
    expect(text).toMatch(/^={12} Serving Benchmark Result ={12}\n/);
    expect(figure(text, 'Successful requests:')).toBe(String(count));
    expect(text.includes('Failed requests:')).toBe(mode !== 'vllm-0.11.0');
    expect(figure(text, 'Maximum request concurrency:')).toBe('3');
    // The older releases report what they count themselves.
    expect(figure(text, 'Total input tokens:')).toBe(String(count * (newest(mode) ? 21 : 20)));
    expect(figure(text, 'Total generated tokens:')).toBe(String(count * 6));
    expect(text).toContain(newest(mode) ? 'Total token throughput' : 'Total Token throughput');
    expect(text.match(/^-+.*$/gm)).toEqual([
      '---------------Time to First Token----------------',
      '-----Time per Output Token (excl. 1st token)------',
      '---------------Inter-token Latency----------------',
    ]);
    expect(text.trimEnd().split('\n').at(-1)).toBe('='.repeat(50));
  });

  it('saves the keys of that version under its file name, and the records beside it', () => {
    const { name, saved } = savedIn(dir);
    expect(name).toMatch(/^openai-infqps-concurrency3-tiny-qwen3-\d{8}-\d{6}\.json$/);
    expect(Object.keys(saved)).toEqual([
      ...configuration.split(' '),
      ...figuresOf(mode).split(' '),
      'max_output_tokens_per_s',
      'max_concurrent_requests',
      ...(newest(mode) ? ['rtfx'] : []),
      ...latencies,
      ...(mode === 'servetune' ? ['servetune'] : []),
    ]);
    expect(saved).toMatchObject({
      backend: 'openai',
      label: null,
      model_id: 'tiny-qwen3',
      tokenizer_id: 'tiny-qwen3',
      num_prompts: count,
      request_rate: 'inf',
      max_concurrency: 3,
      completed: count,
      total_output_tokens: count * 6,
    });
    expect(linesOf(join(dir, name.replace('.json', '.records.jsonl')))).toHaveLength(count);
  });
});

describe.each(compatModes)('a chat with --compat %s', (mode) => {
  it('sends the prompt in the shape of that version, without waiting', async () => {
    await using server = await openAiServer();
    const flags = ['--backend', 'openai-chat', '--ready-check-timeout-sec', '0'];
    expect(trouble(await bench(server, ['--compat', mode, ...flags]))).toEqual([]);
    expect(asked(server)).toHaveLength(count);
    for (const { messages, max_tokens, max_completion_tokens, temperature } of bodies(server)) {
      const content = messages?.[0]?.content;
      if (mode === 'servetune') expect(content).toEqual(expect.any(String));
      else expect(content).toEqual([{ type: 'text', text: expect.any(String) }]);
      expect([max_tokens, max_completion_tokens]).toEqual([undefined, 6]);
      expect(temperature).toBe(checking.includes(mode) ? 0 : undefined);
    }
  });
});

describe.each(compatModes)('failures with --compat %s', (mode) => {
  it('count in the block, and in the exit code of servetune alone', async () => {
    await using server = await openAiServer({
      instead: ({ headers }) => (String(headers['x-request-id']).endsWith('2') ? refusal(500, 'broken') : undefined),
    });
    const { code, stdout, stderr } = await bench(server, ['--compat', mode]);
    expect(code).toBe(mode === 'servetune' ? 3 : 0);
    expect(figure(stdout, 'Successful requests:')).toBe(String(count - 1));
    expect(stderr).toContain('1 x HTTP 500 Internal Server Error: broken');
  });

  it('of every request leave a report that is strict JSON', async () => {
    await using server = await openAiServer({
      instead: ({ url }) => (url.endsWith('completions') ? refusal(400, 'no such thing') : undefined),
    });
    const dir = folder();
    const flags = ['--save-result', '--save-detailed', '--result-dir', dir, '--ready-check-timeout-sec', '0'];
    const { code, stdout, stderr } = await bench(server, ['--compat', mode, ...flags]);
    expect(code).toBe(mode === 'servetune' ? 3 : 0);
    expect(figure(stdout, 'Successful requests:')).toBe('0');
    expect(stdout).not.toMatch(/nan|inf/i);
    expect(stderr).toContain(`${count} x HTTP 400 Bad Request: no such thing`);
    const { saved } = savedIn(dir);
    expect(saved).toMatchObject({ completed: 0, errors: Array.from({ length: count }, () => expect.any(String)) });
    if (mode === 'servetune') {
      expect(figure(stdout, 'Request throughput (req/s):')).toBe('-');
      expect(figure(stdout, 'Mean TTFT (ms):')).toBe('-');
      expect(saved).toMatchObject({ request_throughput: null, mean_ttft_ms: null, p99_itl_ms: null });
    }
  });
});

it.each(checking)('%s ends with 1 when the server never comes up', async (mode) => {
  await using server = await openAiServer();
  const gone = { baseUrl: server.baseUrl };
  await server[Symbol.asyncDispose]();
  const { code, stderr } = await bench(gone, ['--compat', mode, '--ready-check-timeout-sec', '2']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/no server answers at .*ECONNREFUSED/);
});

describe.each(checking)('the ready check of %s', (mode) => {
  it('waits for a server that starts later', async () => {
    const probe = await openAiServer();
    const { port } = probe.baseUrl;
    await probe[Symbol.asyncDispose]();
    let late: Replay | undefined;
    const starting = new Promise<void>((done) => {
      setTimeout(async () => {
        late = await openAiServer({ port: Number(port) });
        done();
      }, 3000);
    });
    const ended = await bench({ baseUrl: probe.baseUrl }, ['--compat', mode]);
    await starting;
    expect(trouble(ended)).toEqual([]);
    expect(ended.stderr).toContain(`waiting for ${probe.baseUrl.href}`);
    expect(asked(late as Replay)).toHaveLength(count + 1);
    await late?.[Symbol.asyncDispose]();
  });

  it('waits until requests are answered, and gives up at once when they are refused', async () => {
    let refused = 0;
    await using server = await openAiServer({
      instead: ({ url }) => (url.endsWith('completions') && ++refused <= 2 ? refusal(503, 'loading') : undefined),
    });
    expect(trouble(await bench(server, ['--compat', mode]))).toEqual([]);
    expect(asked(server)).toHaveLength(2 + 1 + count);

    await using strict = await openAiServer({
      instead: ({ url }) => (url.endsWith('completions') ? refusal(400, 'never') : undefined),
    });
    const { code, stderr } = await bench(strict, ['--compat', mode]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/sent before the load failed: HTTP 400 Bad Request: never/);
    expect(asked(strict)).toHaveLength(1);
  });
});

describe('what is saved besides', () => {
  let server: Replay;
  beforeAll(async () => {
    server = await openAiServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each(vllmModes)('--save-detailed and --metadata with %s', async (mode) => {
    const dir = folder();
    const flags = ['--save-result', '--save-detailed', '--result-dir', dir, '--metadata', 'tp=2', 'note=a=b'];
    expect(trouble(await bench(server, ['--compat', mode, ...flags]))).toEqual([]);
    const { saved } = savedIn(dir);
    expect(saved).toMatchObject({ tp: '2', note: 'a=b' });
    const keys = Object.keys(saved);
    expect(keys.slice(6, 10)).toEqual(['num_prompts', 'tp', 'note', 'request_rate']);
    const arrays = keys.filter((key) => Array.isArray(saved[key]));
    const starts = mode === 'vllm-2026-08' ? ['start_times'] : [];
    expect(arrays).toEqual(['input_lens', 'output_lens', 'ttfts', 'itls', ...starts, 'generated_texts', 'errors']);
    for (const key of arrays) expect(saved[key]).toHaveLength(count);
    expect(saved.generated_texts).toEqual(Array(count).fill(' the'.repeat(6)));
    expect(saved.errors).toEqual(Array(count).fill(''));
  });

  it.each(compatModes)('--append-result with %s adds a line a run, each with records of its own', async (mode) => {
    const dir = folder();
    const flags = ['--compat', mode, '--append-result', '--result-dir', dir, '--result-filename', 'all.json'];
    for (const seed of ['1', '2']) {
      expect(trouble(await bench(server, [...flags, '--seed', seed, '--label', seed]))).toEqual([]);
    }
    const lines = readFileSync(join(dir, 'all.json'), 'utf8').split('\n');
    expect(lines.map((text) => (JSON.parse(text) as { label: string }).label)).toEqual(['1', '2']);
    const records = readdirSync(dir).filter((name) => /^all-\d{8}-\d{6}\.records\.jsonl$/.test(name));
    expect(records).toHaveLength(2);
    for (const name of records) expect(linesOf(join(dir, name))).toHaveLength(count);
  });

  it('leaves a device in its place, and no records beside it', async () => {
    const flags = ['--save-result', '--result-filename', '/dev/null', '--result-json', '/dev/null'];
    expect(trouble(await bench(server, flags))).toEqual([]);
    expect(readdirSync('/dev').filter((name) => name.startsWith('null'))).toEqual(['null']);
    expect(readFileSync('/dev/null')).toHaveLength(0);
  });

  it('keeps vLLM’s account of a ramp', async () => {
    const dir = folder();
    const ramp = ['--ramp-up-strategy', 'linear', '--ramp-up-start-rps', '20', '--ramp-up-end-rps', '40'];
    const ended = await bench(server, ['--compat', 'vllm-2026-08', '--save-result', '--result-dir', dir, ...ramp]);
    expect(trouble(ended)).toEqual([]);
    const { name, saved } = savedIn(dir);
    expect(name).toMatch(/^openai-ramp-up-linear-20qps-40qps-tiny-qwen3-/);
    expect(saved).toMatchObject({ ramp_up_strategy: 'linear', ramp_up_start_rps: 20, ramp_up_end_rps: 40 });
    const changes = saved.rps_change_events as { rps: number; timestamp: string }[];
    expect(changes.map(({ rps }) => rps)).toEqual(Array.from({ length: 21 }, (_, i) => 20 + i));
    for (const { timestamp } of changes) expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/);
  });
});
