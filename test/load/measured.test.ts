import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/endpoints/endpoint.ts';
import { endpointNamed } from '../../src/endpoints/table.ts';
import { failureHints } from '../../src/load/hints.ts';
import { resultBlock } from '../../src/metrics/result-block.ts';
import { sanityProblems } from '../../src/metrics/sanity.ts';
import { summarize } from '../../src/metrics/summary.ts';
import type { Distribution } from '../../src/records/summary.ts';
import { plan, runAt } from './loads.ts';
import { done, type Script, type Seen, type Step, startReplay } from './replay.ts';

/** Faults of servers seen from end to end: from bytes on the wire to the figures that somebody reads. */

type Choice = Readonly<Record<string, unknown>>;
const data = (event: unknown, afterMs = 0): Step => ({ afterMs, bytes: `data: ${JSON.stringify(event)}\n\n` });
const chunk = (delta: Choice, finish_reason: string | null = null): Choice => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const T = (content: string, afterMs = 0): Step => data(chunk({ content }), afterMs);
const F: Step = data(chunk({}, 'stop'));
const U = (completion_tokens: number, more: object = {}, afterMs = 0): Step =>
  data({ choices: [], usage: { prompt_tokens: 5, completion_tokens, ...more } }, afterMs);
const D: Step = { afterMs: 0, bytes: done };
const stream = (...steps: Step[]): Script => ({ steps });
const json = (status: number, body: unknown): Script => ({
  status,
  headers: { 'content-type': 'application/json' },
  steps: [{ afterMs: 0, bytes: JSON.stringify(body) }],
});

interface Measure {
  readonly count?: number;
  readonly endpoint?: Endpoint;
  /** Tokens asked for; as many as came where the case is not about lengths. */
  readonly asked?: number;
  readonly promptTokens?: number;
  readonly ignoreEos?: boolean;
  readonly prompts?: readonly string[];
}

/** Sends a load of some requests and gives what a reader is told of it. */
async function measured(script: Script | ((n: number, seen: Seen) => Script), measure: Measure = {}) {
  const { count = 1, endpoint = endpointNamed('openai-chat'), asked, promptTokens = 5, prompts } = measure;
  await using replay = await startReplay(script);
  const load = plan(count, {
    maxConcurrency: 4,
    ask: { sampling: {}, ignoreEos: measure.ignoreEos ?? true, compat: 'servetune' },
  });
  const requests = load.requests.map((spec, i) => ({
    ...spec,
    promptTokens,
    prompt: prompts?.[i % prompts.length] ?? spec.prompt,
    outputTokens: asked ?? spec.outputTokens,
  }));
  const result = await runAt({ baseUrl: replay.baseUrl, endpoint }, { ...load, requests });
  const records = result.records.map((r) => (asked === undefined ? { ...r, outputTokensAsked: r.outputTokens } : r));
  const summary = summarize(records, {
    asked: result.asked,
    percentiles: [50, 99],
    maxConcurrency: 4,
    generates: endpoint.generates,
  });
  const latency = (name: string): Distribution => summary.latencies[name] as Distribution;
  const block = resultBlock(summary, { percentileMetrics: ['ttft', 'tpot', 'itl', 'e2el'], percentiles: [99] });
  expect(`${block}${JSON.stringify(summary)}`).not.toMatch(/NaN|Infinity|undefined/);
  return {
    records,
    summary,
    latency,
    block,
    problems: sanityProblems(summary),
    hints: failureHints(records),
    seen: replay.seen,
  };
}

// Times below are those of a server that pauses: never shorter, and longer on a busy machine.
describe('the first token', { retry: 3 }, () => {
  it.each([
    ['null', { role: 'assistant', content: null }],
    ['empty', { role: 'assistant', content: '' }],
    ['absent', { role: 'assistant' }],
  ])('is not the role, with content %s (case 1)', async (_, role) => {
    const script = stream(data(chunk(role), 5), T('a', 195), T('b', 20), F, U(2), D);
    const { latency, summary } = await measured(script);
    expect(latency('ttft').mean).toBeGreaterThan(0.195);
    expect(latency('first_event').mean).toBeLessThan(0.15);
    expect(latency('itl')).toMatchObject({ n: 1 });
    expect(latency('itl').mean).toBeLessThan(0.15);
    expect(summary.warnings).toEqual([]);
  });

  it('may be a thought, and then the answer has a time of its own (case 4)', async () => {
    const thought = (afterMs: number): Step => data(chunk({ reasoning: 'hm' }), afterMs);
    const script = stream(thought(10), thought(10), thought(10), T('a', 200), T('b', 10), F, U(5), D);
    const { latency, summary } = await measured(script);
    expect((latency('answer_ttft').mean ?? 0) - (latency('ttft').mean ?? 0)).toBeGreaterThan(0.2);
    expect(latency('itl').n).toBe(4);
    expect(summary).toMatchObject({ outputTokens: 5, tokensPerEvent: 1, warnings: [] });
  });

  it('comes after the comments of a long prefill, which it includes (case 18)', async () => {
    const comments = [':\n\n', ': keep-alive\n\n', ':\n', ': \n\n', ':x\n\n'].map((bytes) => ({ afterMs: 50, bytes }));
    const { latency, records } = await measured(stream(...comments, T('a', 10), T('b', 10), F, U(2), D));
    expect(records[0]).toMatchObject({ outcome: 'ok', malformedEvents: 0 });
    expect(latency('ttft').mean).toBeGreaterThan(0.25);
    expect(latency('first_event').mean).toEqual(latency('ttft').mean);
  });
});

it('ends with the last token; what the server adds is told apart (case 3)', { retry: 3 }, async () => {
  const late = (step: Step): Step => ({ ...step, afterMs: 150 });
  const role = data(chunk({ role: 'assistant' }));
  const { latency, records } = await measured(stream(role, T('a', 5), T('b', 20), late(F), late(U(2)), late(D)));
  expect(records[0]?.tokenTimesS).toHaveLength(2);
  expect(latency('itl')).toMatchObject({ n: 1 });
  expect(latency('itl').mean).toBeLessThan(0.15);
  expect((latency('stream_end').mean ?? 0) - (latency('e2el').mean ?? 0)).toBeGreaterThan(0.45);
});

describe('an answer that is only thought', () => {
  it('is a success with a TTFT and without an answer (case 5)', async () => {
    const thought = data(chunk({ reasoning_content: 'hm' }), 5);
    const { summary, latency } = await measured(stream(thought, thought, data(chunk({}, 'length')), U(4), D));
    expect(summary).toMatchObject({ ok: 1, outputTokens: 4 });
    expect(latency('ttft').mean).toBeGreaterThan(0);
    expect(latency('answer_ttft')).toMatchObject({ n: 0, mean: null });
  });

  it('is counted by the usage behind it, whatever the field is called (cases 6 and 8)', async () => {
    const thought = data(chunk({ reasoning: 'hm' }), 5);
    const { summary, latency, problems } = await measured(stream(thought, thought, thought, F, U(500), D));
    expect(summary).toMatchObject({ ok: 1, outputTokens: 500 });
    expect(latency('ttft').n).toBe(1);
    expect(problems).toEqual([]);
  });

  it('on a channel that nobody knows is a loud warning, and no measurement (case 6)', async () => {
    const unknown = data(chunk({ telepathy: 'hm' }), 5);
    const { summary, latency, problems } = await measured(stream(unknown, unknown, F, U(500), D));
    expect(summary.warnings).toContainEqual(
      expect.stringMatching(/^The server counted output tokens for 1 request in whose stream no token was recognised/),
    );
    expect(latency('ttft')).toMatchObject({ n: 0, mean: null, median: null });
    expect(problems).toEqual(['No time to first token was measured.']);
  });
});

it('counts the same, wherever the usage stands (cases 9 and 10)', async () => {
  const usage = { prompt_tokens: 5, completion_tokens: 3 };
  const ends: readonly (readonly Step[])[] = [
    [data({ ...chunk({}, 'stop'), usage })],
    [data({ ...chunk({ role: 'assistant', content: null }, 'stop'), usage })],
    [F, data({ ...chunk({}), usage })],
    [F, data({ choices: [], usage })],
    [F, data({ usage })],
    [data({ choices: [{ index: 0, delta: { content: 'c' }, finish_reason: 'stop' }], usage })],
  ];
  const { records } = await measured((n) => stream(T('ab', 2), T('c', 2), ...(ends[n] ?? []), D), {
    count: ends.length,
  });
  expect(records.map(({ outcome, outputTokens, outputTokensBy }) => [outcome, outputTokens, outputTokensBy])).toEqual(
    ends.map(() => ['ok', 3, 'server']),
  );
});

describe('several tokens an event', () => {
  it('give the time of a token, and the time between events (case 12)', { retry: 3 }, async () => {
    const { summary, latency, records } = await measured(stream(...Array(10).fill(T('abc', 9)), F, U(30), D));
    const [first = 0, last = 0] = [records[0]?.tokenTimesS[0], records[0]?.tokenTimesS.at(-1)];
    expect(latency('tpot').mean).toBeCloseTo((last - first) / 29, 9);
    expect(latency('tpot').mean).toBeLessThan(0.006);
    expect(latency('itl').n).toBe(9);
    expect(latency('itl').mean).toBeGreaterThan(0.0085);
    expect(summary.tokensPerEvent).toBe(3);
    expect(summary.warnings).toContainEqual(expect.stringMatching(/^An event carried 3\.00 tokens on average/));
  });

  it.each([
    ['and are counted at the end', false],
    ['and are counted in each', true],
  ])('do not make the peak lower than the mean, %s (case 13)', async (_, told) => {
    const events = 300;
    const usage = (i: number) => (told ? { usage: { prompt_tokens: 5, completion_tokens: 3 * (i + 1) } } : {});
    const steps = Array.from({ length: events }, (__, i) => data({ ...chunk({ content: 'abc' }), ...usage(i) }, 9));
    const { summary, problems } = await measured(stream(...steps, F, U(3 * events), D), { count: 2 });
    const { peakOutputThroughput: peak, outputThroughput: mean, durationS } = summary;
    expect(peak).toBeGreaterThanOrEqual(mean as number);
    // Counted in events, it would be a third.
    expect(peak).toBeGreaterThan((2 * 2 * events) / durationS);
    expect(problems).toEqual([]);
  });
});

describe('an error inside a 200', () => {
  const error = data({ error: { message: 'the engine died', code: 500 } }, 5);
  const fine = stream(T('a', 5), T('b', 5), F, U(2), D);

  it.each([
    ['at once', stream(error), 0],
    ['after tokens', stream(T('a', 5), T('b', 5), T('c', 5), error, F, D), 3],
    ['in one piece without choices', json(200, { id: 'x', choices: [] }), 0],
    ['in one piece', json(200, { error: { message: 'the engine died' } }), 0],
    ['in a field of its own', stream({ afterMs: 5, bytes: 'error: {"code":500,"message":"the engine died"}\n\n' }, D), 0],
  ])('%s fails, and its tokens are in no throughput (cases 21 and 22)', async (_, script, tokens) => {
    const { summary, records, problems } = await measured((n) => (n === 1 ? script : fine), { count: 3 });
    expect(summary).toMatchObject({ asked: 3, ok: 2, failed: 1, outcomes: { in_band_error: 1 }, outputTokens: 4 });
    expect(records.find(({ outcome }) => outcome !== 'ok')?.outputTokens).toBe(tokens);
    expect(summary.outputThroughput).toBeCloseTo(4 / summary.durationS, 9);
    expect(problems).toEqual([expect.stringMatching(/^1 of 3 requests failed: /)]);
  }); // biome-ignore format: one case a line

  it('that says the prompt is too long comes with the remedy (case 23)', async () => {
    const message =
      "This model's maximum context length is 32768 tokens. However, your request has 36000 input tokens.";
    const { summary, hints } = await measured(stream(data({ error: { message, type: 'BadRequestError', code: 400 } })));
    expect(summary).toMatchObject({ outcomes: { in_band_error: 1 }, errors: [{ text: `400: ${message}`, count: 1 }] });
    expect(hints).toEqual([expect.stringMatching(/lower the input or output length, or raise the maximum length/)]);
  });

  it('is real, or is none (case 25)', async () => {
    const values = [null, false, '', {}, [], 0, { message: 'boom' }];
    const { records } = await measured((n) => stream(data({ error: values[n] }), T('a'), T('b', 5), F, U(2), D), {
      count: values.length,
    });
    const outcomes = [...records].sort((a, b) => a.index - b.index).map(({ outcome }) => outcome);
    expect(outcomes).toEqual([...Array(6).fill('ok'), 'in_band_error']);
  });
});

it('takes a clean end without a terminal signal for broken off (case 26)', async () => {
  const { summary, problems } = await measured(stream(T('a', 5), T('b', 5)), { count: 2 });
  expect(summary).toMatchObject({ ok: 0, failed: 2, outcomes: { truncated: 2 }, outputTokens: 0 });
  expect(problems).toEqual([expect.stringMatching(/^Not one of 2 requests succeeded: the body ended after 2 token/)]);
});

it('takes an answer without a token for no answer (case 29)', async () => {
  const role = data(chunk({ role: 'assistant', content: '' }), 5);
  const { summary, hints, block } = await measured(stream(role, F, U(0, { prompt_tokens: 36_000 }), D), { count: 2 });
  expect(summary).toMatchObject({ ok: 0, outcomes: { empty: 2 }, requestThroughput: null });
  expect(hints).toEqual([expect.stringMatching(/answers without a token: the prompt may fill the context/)]);
  expect(block).toMatch(/^Mean TTFT \(ms\): +- *$/m);
});

describe('what cannot be parsed', () => {
  const fine = [T('a', 2), T('b', 2), F, U(2), D];

  it('is counted and shown, and the request goes on (case 20)', async () => {
    const { summary } = await measured(stream({ afterMs: 0, bytes: 'data: : PROCESSING\n\n' }, ...fine));
    expect(summary).toMatchObject({ ok: 1, outputTokens: 2 });
    expect(summary.warnings).toEqual([
      expect.stringMatching(/^Malformed events: 1, in 1 request \(": PROCESSING"\)\./),
    ]);
  });

  it('is counted over all requests (case 30)', async () => {
    const garbage: Step = { afterMs: 1, bytes: `data: {"choices":[{"del${'x'.repeat(5000)}\n\n` };
    const { summary } = await measured((n) => stream(...(n % 10 === 3 ? [garbage] : []), ...fine), { count: 30 });
    expect(summary).toMatchObject({ ok: 30, failed: 0 });
    const [warning = ''] = summary.warnings;
    expect(warning).toMatch(
      /^Malformed events: 3, in 3 requests \(the first: "\{\\"choices\\":\[\{\\"delx+\.\.\."\)\./,
    );
    expect(warning.length).toBeLessThan(300);
  });
});

it('sees that events come together, and how many at a time (case 31)', async () => {
  const packet: Step = { afterMs: 50, bytes: Array(5).fill(T('a').bytes).join('') };
  const { summary, latency } = await measured(stream(...Array(10).fill(packet), F, U(50), D));
  expect(latency('itl')).toMatchObject({ n: 49, median: 0 });
  const [, share, atATime] = /^(\d+) % of the gaps .* zero: buffered upstream\. .*, (\d+\.\d) at a time/.exec(
    summary.warnings[0] ?? '',
  ) as RegExpExecArray;
  // A busy client may read two packets at once.
  expect(Number(share)).toBeGreaterThanOrEqual(82);
  expect(Number(atATime)).toBeGreaterThanOrEqual(5);
});

it('believes the server’s count of the prompt, and shows the difference (case 49)', async () => {
  const told = await measured(stream(T('a', 5), T('b', 5), F, U(2, { prompt_tokens: 812 }), D), { promptTokens: 3 });
  expect(told.summary).toMatchObject({ inputTokens: 812, inputTokensByClient: 3 });
  expect(told.summary.totalTokenThroughput).toBeCloseTo(814 / told.summary.durationS, 6);
  expect(told.summary.warnings).toEqual([
    expect.stringMatching(/^The server counted 812 prompt tokens a request, this client 3 /),
  ]);
  // A prompt of 0 tokens is a field that nobody filled in.
  const untold = await measured(stream(T('a', 5), T('b', 5), F, U(2, { prompt_tokens: 0 }), D), { promptTokens: 3 });
  expect(untold.summary).toMatchObject({ inputTokens: 3, warnings: [] });
});

describe('a server that stops at 43 tokens unless it must not (case 52)', () => {
  const flags: Readonly<Record<string, (body: Record<string, unknown>) => unknown>> = {
    'openai-chat': (body) => body.ignore_eos,
    openai: (body) => body.ignore_eos,
    'vllm-chat': (body) => body.ignore_eos,
    vllm: (body) => body.ignore_eos,
    sglang: ({ sampling_params }) => (sampling_params as { ignore_eos?: unknown }).ignore_eos,
    'llama.cpp': (body) => body.ignore_eos,
    'tensorrt-llm': ({ min_tokens, max_tokens }) => min_tokens === max_tokens,
  };
  const answer = (name: string, count: number): Script => {
    if (name === 'sglang') {
      const event = (n: number, type?: string) =>
        data({ text: 'x'.repeat(n), meta_info: { completion_tokens: n, finish_reason: type ? { type } : null } });
      return stream(...Array.from({ length: count }, (_, i) => event(i + 1)), event(count, 'length'), D);
    }
    if (name === 'llama.cpp') {
      const event = (n: number, stop: boolean) => data({ content: stop ? '' : 'x', tokens_predicted: n, stop });
      return stream(...Array.from({ length: count }, (_, i) => event(i + 1, false)), event(count, true));
    }
    if (name === 'tensorrt-llm') return stream(...Array(count).fill(data({ text_output: 'x' })));
    const token = data({ choices: [{ text: 'x', delta: { content: 'x' }, finish_reason: null }] });
    return stream(...Array(count).fill(token), F, U(count), D);
  };
  const server = (name: string) => (_: number, seen: Seen) =>
    answer(name, flags[name]?.(JSON.parse(seen.body)) === true ? 100 : 43);

  it.each(Object.keys(flags))('gets the flag with every request of %s', async (name) => {
    const options = { count: 12, asked: 100, endpoint: endpointNamed(name) };
    const { summary, seen } = await measured(server(name), options);
    expect(seen.map(({ body }) => flags[name]?.(JSON.parse(body)))).toEqual(Array(12).fill(true));
    expect(summary).toMatchObject({ ok: 12, outputTokens: 1200, outputTokensAsked: 1200 });
    expect(summary.warnings.filter((warning) => warning.includes('not pinned'))).toEqual([]);
  });

  it('is found out where one request of many goes without it', async () => {
    const { summary, problems } = await measured((n, seen) => (n === 5 ? answer('openai', 43) : server('openai')(n, seen)), {
      count: 12,
      asked: 100,
      endpoint: endpointNamed('openai'),
    });
    expect(summary.outputTokens).toBe(11 * 100 + 43);
    expect(summary.warnings).toContainEqual(expect.stringMatching(/^1143 output tokens came where 1200 .* not pinned/));
    expect(problems).toContainEqual(expect.stringMatching(/output length was not pinned/));
  }); // biome-ignore format: short enough

  it('is told to be free where that is wanted, and the lengths show it', async () => {
    const { summary } = await measured(server('openai'), {
      count: 4,
      asked: 100,
      ignoreEos: false,
      endpoint: endpointNamed('openai'),
    });
    expect(summary.outputTokens).toBe(4 * 43);
    expect(summary.warnings).toContainEqual(expect.stringMatching(/^172 output tokens came where 400 were asked for/));
  });
});

describe('a cache of earlier prompts (case 53)', () => {
  /** Knows whole prompts that it has seen, and tells as vLLM does: not at all where nothing was cached. */
  const caching = () => {
    const known = new Set<string>();
    return (_: number, { body }: Seen): Script => {
      const { content } = JSON.parse(body).messages[0];
      const hit = known.has(content);
      known.add(content);
      const details = { prompt_tokens_details: hit ? { cached_tokens: 96 } : null };
      return stream(T('a', 2), T('b', 2), F, U(2, { prompt_tokens: 100, ...details }), D);
    };
  };

  it('shows in the second run of the same prompts', async () => {
    const server = caching();
    const options = { count: 20, promptTokens: 100 };
    const first = await measured(server, options);
    expect(first.summary).toMatchObject({ ok: 20, inputTokens: 2000, cachedInputTokens: null, warnings: [] });
    const second = await measured(server, options);
    expect(second.summary).toMatchObject({ ok: 20, inputTokens: 2000, cachedInputTokens: 1920 });
    expect(second.summary.warnings).toEqual([
      expect.stringMatching(
        /^The server took 1920 of 2000 prompt tokens \(96\.0 %\) from its cache of earlier prompts/,
      ),
    ]);
  });

  it('shows where a load sends the same prompt twice', async () => {
    const prompts = [...Array.from({ length: 8 }, (_, i) => `prompt ${i}`), 'prompt 0', 'prompt 1'];
    const { summary } = await measured(caching(), { count: 10, promptTokens: 100, prompts });
    expect(summary.cachedInputTokens).toBe(192);
    expect(summary.warnings).toEqual([expect.stringMatching(/192 of 1000 prompt tokens \(19\.2 %\)/)]);
  });

  it('is no word worth where it holds little: a chat template that all share', async () => {
    const details = { prompt_tokens_details: { cached_tokens: 5 } };
    const script = stream(T('a', 2), T('b', 2), F, U(2, { prompt_tokens: 100, ...details }), D);
    const { summary } = await measured(script, { count: 4, promptTokens: 100 });
    expect(summary).toMatchObject({ cachedInputTokens: 20, warnings: [] });
  });
});

it('reports a load in which everything was refused (case 56)', async () => {
  const refusal = json(400, { error: { message: 'max_tokens is too large', code: 400 } });
  const { summary, problems, hints, block } = await measured(refusal, { count: 6 });
  expect(summary).toMatchObject({
    asked: 6, ok: 0, failed: 6, notSent: 0, outcomes: { http_error: 6 },
    errors: [{ text: 'HTTP 400 Bad Request: 400: max_tokens is too large', count: 6 }],
    requestThroughput: null, outputThroughput: null, totalTokenThroughput: null, peakOutputThroughput: null,
    latencies: { ttft: { n: 0, mean: null, percentiles: { 99: null } }, tpot: { mean: null }, itl: { mean: null } },
  }); // biome-ignore format: one fact a group
  expect(problems).toEqual([expect.stringMatching(/^Not one of 6 requests succeeded: HTTP 400 Bad Request/)]);
  expect(hints).toHaveLength(1);
  expect(block).toMatch(/^Successful requests: +0 *$/m);
  expect(block).toMatch(/^Request throughput \(req\/s\): +- *$/m);
});

it('leaves answers of one token out of TPOT, and judges them by their other limits (case 58)', async () => {
  const scripts = [
    stream(T('a', 5), F, U(1), D),
    stream(T('a', 5), T('b', 20), F, U(1), D),
    stream(T('a', 5), T('b', 20), T('c', 20), F, U(3), D),
  ];
  const { latency, records } = await measured((n) => scripts[n] as Script, { count: 3 });
  expect(latency('tpot')).toMatchObject({ n: 1 });
  expect(latency('tpot').mean).toBeGreaterThan(0.015);
  const goodput = (limits: object) => summarize(records, { asked: 3, percentiles: [], goodput: limits }).goodput?.good;
  expect(goodput({ tpot: 0.001 })).toBe(2);
  expect(goodput({ tpot: 0.001, ttft: 0.001 })).toBe(0);
  expect(goodput({ tpot: 60_000, ttft: 60_000 })).toBe(3);
});

describe('a metric that does not exist (case 60)', () => {
  it('is null where the server does not stream', async () => {
    const whole = json(200, {
      choices: [{ message: { role: 'assistant', content: 'a b c' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 3 },
    });
    const { summary, latency, problems } = await measured(whole, { count: 3 });
    expect(summary).toMatchObject({ ok: 3, outputTokens: 9 });
    expect(['ttft', 'tpot', 'itl'].map((name) => latency(name).mean)).toEqual([null, null, null]);
    expect(latency('e2el').n).toBe(3);
    expect(summary.warnings).toEqual([expect.stringMatching(/^The answers of 3 requests came whole, in one event/)]);
    expect(problems).toEqual([]);
  });

  it('is null where nothing is generated', async () => {
    const body = { data: [{ embedding: [0.5, 1] }], usage: { prompt_tokens: 7 } };
    const endpoint = endpointNamed('openai-embeddings');
    const { summary, latency, problems, block } = await measured(json(200, body), { count: 3, endpoint, asked: 0 });
    expect(summary).toMatchObject({ ok: 3, pooling: true, inputTokens: 21, outputThroughput: null, warnings: [
      expect.stringMatching(/^The server counted 7 prompt tokens/),
    ] }); // biome-ignore format: one fact a group
    expect(['ttft', 'tpot', 'itl'].map((name) => latency(name).mean)).toEqual([null, null, null]);
    expect(latency('e2el').mean).toBeGreaterThan(0);
    expect(problems).toEqual([]);
    expect(block).not.toMatch(/TTFT|TPOT/);
  });

  it('is flagged, and in the figures, where it is beyond belief', async () => {
    const together = stream({ afterMs: 5, bytes: `${T('a').bytes}${T('b').bytes}` }, F, U(2), D);
    const apart = stream(T('a', 5), T('b', 20), F, U(2), D);
    const { summary, latency } = await measured((n) => (n === 2 ? together : apart), { count: 12 });
    expect(latency('tpot')).toMatchObject({ n: 12, min: 0 });
    expect(summary.warnings).toEqual([
      expect.stringMatching(/^The tokens of 1 request came all together.* are in the/),
    ]);
  });
});
