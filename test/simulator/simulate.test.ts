import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tokensPerStep } from '../../src/simulator/drafts.ts';
import type { EngineSpec } from '../../src/simulator/engine.ts';
import { figuresOf } from '../../src/simulator/figures.ts';
import { schedulers } from '../../src/simulator/scheduler/table.ts';
import { type Load, type Outcome, simulate } from '../../src/simulator/simulate.ts';
import { able, load } from './machines.ts';

const engines = schedulers.map(({ name }) => name);

/** A cache so small that requests are in each other's way. */
const cramped = (engine: string, kvTokens: number): EngineSpec => {
  const { spec } = able(engine);
  return {
    ...spec,
    options: { ...spec.options, kvTokens, maxBatchedTokens: 512, maxRunningRequests: 40, chunkedPrefill: true },
  };
};

const loads = fc
  .array(
    fc.record({
      prompt: fc.integer({ min: 1, max: 900 }),
      output: fc.integer({ min: 1, max: 120 }),
      gapS: fc.double({ min: 0, max: 0.5, noNaN: true }),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .chain((rows) =>
    fc.constantFrom(null, 1, 7).map((maxConcurrency): Load => {
      let atS = 0;
      return {
        arrivalsS: rows.map(({ gapS }) => {
          atS += gapS;
          return atS;
        }),
        promptTokens: rows.map(({ prompt }) => prompt),
        outputTokens: rows.map(({ output }) => output),
        maxConcurrency,
      };
    }),
  );

const eventsOf = (outcome: Outcome, request: number): (readonly [number, number])[] => {
  const events: [number, number][] = [];
  outcome.eachToken(request, (atS, tokens) => events.push([atS, tokens]));
  return events;
};

const rounded = (gaps: number[]): number[] => gaps.map((gap) => Number(gap.toFixed(9))).sort((a, b) => a - b);

function gapsOf(outcome: Outcome): number[] {
  const gaps: number[] = [];
  outcome.eachGap((seconds, count) => gaps.push(...new Array<number>(count).fill(seconds)));
  return rounded(gaps);
}

function plainGapsOf(outcome: Outcome): number[] {
  const gaps: number[] = [];
  for (let i = 0; i < outcome.requests; i++) {
    const times = eventsOf(outcome, i).map(([atS]) => atS);
    times.slice(1).forEach((atS, before) => {
      gaps.push(atS - (times[before] as number));
    });
  }
  return rounded(gaps);
}

describe.each(engines)('%s', (engine) => {
  it('gives every request its tokens, in order, between its arrival and its end, whatever is thrown out on the way', () => {
    fc.assert(
      fc.property(loads, fc.integer({ min: 1040, max: 3000 }), (requests, kvTokens) => {
        const outcome = simulate(cramped(engine, kvTokens), requests);
        expect(outcome.peakKvTokens).toBeLessThanOrEqual(kvTokens);
        for (let i = 0; i < outcome.requests; i++) {
          const events = eventsOf(outcome, i);
          expect(events.reduce((sum, [, tokens]) => sum + tokens, 0)).toBe(requests.outputTokens[i]);
          const times = events.map(([atS]) => atS);
          expect(times).toEqual([...times].sort((a, b) => a - b));
          expect(times[0]).toBe(outcome.firstS[i]);
          expect(times.at(-1)).toBe(outcome.endS[i]);
          expect(outcome.sendS[i]).toBeGreaterThanOrEqual(requests.arrivalsS[i] as number);
          expect(times[0]).toBeGreaterThan(outcome.sendS[i] as number);
        }
        expect(gapsOf(outcome)).toEqual(plainGapsOf(outcome));
      }),
      { numRuns: 60 },
    );
  });

  it('never has more requests under way than it may', () => {
    const outcome = simulate(able(engine).spec, load(60, 300, 40, 0, 5));
    const changes: (readonly [atS: number, change: number])[] = [];
    for (const atS of outcome.sendS) changes.push([atS, 1]);
    for (const atS of outcome.endS) changes.push([atS, -1]);
    changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let now = 0;
    let most = 0;
    for (const [, change] of changes) {
      now += change;
      most = Math.max(most, now);
    }
    expect(most).toBe(5);
  });

  it('gives the same outcome for the same arguments', () => {
    const some = load(50, 700, 60, 0.01);
    const [a, b] = [simulate(cramped(engine, 4000), some), simulate(cramped(engine, 4000), some)];
    expect(a.endS).toEqual(b.endS);
    expect(a.decodeEndsS).toEqual(b.decodeEndsS);
  });

  it('computes a lone request at the speed of its parts', () => {
    const { spec } = able(engine);
    const outcome = simulate(spec, load(1, 2000, 11));
    const { model, rates, costs } = spec;
    const head = model.headBytes / rates.weightBytesPerS;
    const prompt =
      (model.layerFlop * 2000) / rates.layerFlopPerS +
      head +
      (model.pairFlop * 2000 * 2001) / 2 / rates.prefillFlopPerS;
    expect(outcome.firstS[0]).toBeCloseTo(costs.requestS + prompt + costs.stepS, 9);
    const kv = Array.from({ length: 10 }, (_, i) => (model.kvBytes * (2001 + i)) / rates.kvBytesPerS).reduce(
      (x, y) => x + y,
    );
    const steps = 10 * (model.layerBytes / rates.weightBytesPerS + head + costs.stepS) + kv;
    expect((outcome.endS[0] as number) - (outcome.firstS[0] as number)).toBeCloseTo(steps, 9);
  });

  it('refuses what can never fit, and computes the rest', () => {
    const some: Load = { ...load(3, 100, 10), promptTokens: [100, 5000, 100] };
    const outcome = simulate(cramped(engine, 2000), some);
    expect([...outcome.refusals.keys()]).toEqual([1]);
    expect(outcome.refusals.get(1)).toContain('2000');
    expect(figuresOf(some, outcome)).toMatchObject({ completed: 2, refused: 1 });
  });
});

describe('what tells the engines apart', () => {
  it('vLLM throws the newest out of a full cache, TensorRT-LLM never lets it fill', () => {
    const some = load(20, 400, 200);
    expect(simulate(cramped('vllm', 6000), some).preemptions).toBeGreaterThan(0);
    expect(simulate(cramped('tensorrt-llm', 6000), some).preemptions).toBe(0);
  });

  it('SGLang computes all prompts before it decodes; vLLM decodes the first while it computes the others', () => {
    const some = load(64, 1000, 50);
    const gapsOf = (engine: string): number => figuresOf(some, simulate(able(engine).spec, some)).itlS?.median ?? 0;
    const lastFirst = (engine: string): number => Math.max(...simulate(able(engine).spec, some).firstS);
    const early = (engine: string): number => {
      const outcome = simulate(able(engine).spec, some);
      return [...outcome.decodeEndsS].filter((atS) => atS < lastFirst(engine)).length;
    };
    expect(early('sglang')).toBe(0);
    expect(early('vllm')).toBeGreaterThan(0);
    expect(gapsOf('vllm')).toBeGreaterThan(0);
  });

  it('without chunked prefill a prompt has to fit a step', () => {
    const outcome = simulate(able('tensorrt-llm').spec, load(1, 9000, 5));
    expect(outcome.refusals.get(0)).toContain('8192');
  });
});

describe('speculative decoding', () => {
  const drafts = { tokens: 3, acceptance: 0.7 };

  it('brings as many tokens a step as the acceptance rate says', () => {
    const some = load(40, 200, 300);
    const { spec } = able('vllm', { speculative_method: 'eagle3', speculative_tokens: 3 });
    const outcome = simulate(spec, some, drafts, 7);
    let [steps, tokens] = [0, 0];
    for (let i = 0; i < 40; i++) {
      const events = eventsOf(outcome, i).slice(1);
      expect(events.reduce((sum, [, n]) => sum + n, 1)).toBe(300);
      steps += events.length;
      tokens += events.reduce((sum, [, n]) => sum + n, 0);
    }
    expect(tokens / steps).toBeCloseTo(tokensPerStep(drafts), 1);
  });

  it('draws from the seed', () => {
    const some = load(5, 200, 100);
    const { spec } = able('sglang', { speculative_method: 'eagle', speculative_tokens: 3 });
    const end = (seed: number): Float64Array => simulate(spec, some, drafts, seed).endS;
    expect(end(1)).toEqual(end(1));
    expect(end(1)).not.toEqual(end(2));
  });
});

it('grows in time and memory with the requests, and no faster', () => {
  const { spec } = able('vllm');
  const some = (count: number): Load => load(count, 220, 200, 0.2);
  const outcome = simulate(spec, some(4000));
  expect(outcome.steps).toBeLessThan(4000 * 201 + 4000);
  expect(Number.isNaN(outcome.endS.reduce((a, b) => a + b))).toBe(false);
});
