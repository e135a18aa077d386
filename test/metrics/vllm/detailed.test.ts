import { describe, expect, it } from 'vitest';
import { InputError } from '../../../src/kit/errors.ts';
import { summarize } from '../../../src/metrics/summary.ts';
import { fromVllmDetailed } from '../../../src/metrics/vllm/detailed.ts';
import { observeAll } from '../../../src/metrics/vllm/observe.ts';
import { vllmResult } from '../../../src/metrics/vllm/result.ts';
import { savedResult } from '../../../src/metrics/vllm/saved.ts';
import { vllmVersions } from '../../../src/metrics/vllm/version.ts';
import { fixtureNames, near, resultOf, vllmFixture } from '../vllm-fixture.ts';
import { output, run } from './outputs.ts';

const problemsOf = (json: unknown): readonly { place: string; message: string }[] => {
  try {
    fromVllmDetailed(json, 'r.json');
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
  return [];
};

describe.each(fixtureNames)('what was saved of fixture %s', (name) => {
  const fixture = vllmFixture(name);
  const facts = { ...run, maxConcurrency: fixture.input.max_concurrency, metadata: { tp: '2' } };

  it.each(vllmVersions)('%s comes back', (version) => {
    const result = resultOf(fixture, version);
    const { outputs, facts: read } = fromVllmDetailed(savedResult(result, { run: facts, detailed: true }));
    expect(read).toMatchObject({ version, kind: 'chat', durationS: fixture.input.duration, asked: outputs.length });
    expect(read.sendTimesKnown).toBe(version === 'vllm-2026-08');
    expect(read.run).toMatchObject({
      backend: 'openai-chat',
      requestRate: Number.POSITIVE_INFINITY,
      metadata: { tp: '2' },
    });
    expect(outputs.map((o) => [o.success, o.ttftS, o.itlS, o.error])).toEqual(
      result.outputs.map((o) => [o.success, o.ttftS, o.itlS, o.error]),
    );
    const again = vllmResult(outputs, {
      version,
      durationS: read.durationS,
      percentileMetrics: ['ttft', 'itl'],
      percentiles: [99],
    });
    for (const { name, mean, median } of again.latencies) {
      const want = result.latencies.find((l) => l.name === name);
      expect([near(mean, want?.mean ?? 0), near(median, want?.median ?? 0)]).toEqual([true, true]);
    }
    expect(again).toMatchObject({
      completed: result.completed,
      totalInput: result.totalInput,
      totalOutput: result.totalOutput,
    });
  });

  it('the records say the same as the outputs', () => {
    const json = savedResult(resultOf(fixture, 'vllm-2026-08'), { run: facts, detailed: true });
    const { records, outputs } = fromVllmDetailed(json);
    const observed = observeAll(records, { kind: 'chat', version: 'vllm-2026-08' });
    for (const [i, { success, ttftS, itlS, latencyS, outputTokens }] of observed.entries()) {
      const want = outputs[i];
      expect([success, outputTokens, itlS.length]).toEqual([want?.success, want?.outputTokens, want?.itlS.length]);
      expect([ttftS - (want?.ttftS ?? 0), latencyS - (want?.latencyS ?? 0)]).toEqual([
        expect.closeTo(0, 9),
        expect.closeTo(0, 9),
      ]);
    }
  });
});

describe('a file without start times', () => {
  const json = savedResult(resultOf(vllmFixture('basic'), 'vllm-0.11.0'), { run, detailed: true });
  it('says what cannot be known of it', () => {
    expect(fromVllmDetailed(json).facts.notes).toEqual([
      expect.stringMatching(/role/),
      expect.stringMatching(/start times/),
      expect.stringMatching(/latencies/),
    ]);
  });
  it('is summarised by its own duration', () => {
    const { records, facts } = fromVllmDetailed(json);
    const summary = summarize(records, {
      asked: facts.asked,
      percentiles: [99],
      durationS: facts.durationS,
      sendTimesKnown: facts.sendTimesKnown,
    });
    expect(summary).toMatchObject({ ok: 5, outputTokens: 50, durationS: 2.125, peakConcurrency: null });
    expect(summary.outputThroughput).toBeCloseTo(50 / 2.125, 9);
  });
});

const base = {
  duration: 2,
  completed: 1,
  input_lens: [64],
  output_lens: [4],
  ttfts: [0.25],
  itls: [[0.25]],
  errors: [''],
};

it('takes the latencies where they are there', () => {
  const { outputs, facts } = fromVllmDetailed({ ...base, latencies: [1.5], start_times: [1000], queue_times: [0] });
  expect(outputs[0]).toMatchObject({ latencyS: 1.5, startS: 0 });
  expect(facts).toMatchObject({ kind: 'completions', notes: [] });
});

it('finds the failed request that has no error', () => {
  const two = {
    ...base,
    input_lens: [64, 64],
    output_lens: [0, 4],
    ttfts: [0, 0.25],
    itls: [[], []],
    errors: ['', ''],
  };
  expect(fromVllmDetailed(two).outputs.map(({ success }) => success)).toEqual([false, true]);
  // A chat that completed without a token is a success to vLLM, and empty here.
  const chat = fromVllmDetailed({ ...two, completed: 2, backend: 'openai-chat' });
  expect(chat.outputs.map(({ success }) => success)).toEqual([true, true]);
  expect(chat.records.map(({ outcome }) => outcome)).toEqual(['empty', 'ok']);
});

it('reads a pooling task that has latencies', () => {
  const { records, facts } = fromVllmDetailed({
    duration: 2,
    completed: 1,
    input_lens: [64],
    latencies: [0.5],
    errors: [''],
  });
  expect(facts.kind).toBe('pooling');
  expect(summarize(records, { asked: 1, percentiles: [] })).toMatchObject({
    ok: 1,
    pooling: true,
    latencies: { e2el: { mean: 0.5 } },
  });
});

describe('what is wrong is said all at once', () => {
  it.each([
    ['no object', 7, ['r.json is not a JSON object']],
    ['a result without details', savedResult(vllmResult([output()], { version: 'vllm-0.11.0', durationS: 1, percentileMetrics: [], percentiles: [] }), { run, detailed: false }),
      ['input_lens is missing', 'errors is missing', 'ttfts is missing', 'itls is missing', 'output_lens is missing']],
    ['arrays of other lengths', { ...base, errors: [], itls: [[0.25], []] }, ['errors has 0 values', 'itls has 2 values']],
    ['values of other kinds', { ...base, duration: '2', ttfts: ['soon'], itls: [0.25] }, ['duration is not a number', 'ttfts is not a list of numbers', 'itls is not a list of lists']],
  ])('%s', (_, json, wanted) => {
    const said = problemsOf(json).map(({ place, message }) => `${place} ${message}`);
    for (const part of wanted) expect(said).toContainEqual(expect.stringContaining(part));
  }); // biome-ignore format: one case a line
});
