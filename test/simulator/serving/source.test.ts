import { describe, expect, it } from 'vitest';
import type { Simulable } from '../../../src/simulator/deployment.ts';
import { schedulers } from '../../../src/simulator/scheduler/table.ts';
import { simulate } from '../../../src/simulator/simulate.ts';
import { able } from '../machines.ts';
import { driven, type Got, prompt } from './drive.ts';

const engines = schedulers.map(({ name }) => name);

const cramped = (simulable: Simulable, kvTokens: number): Simulable => ({
  ...simulable,
  spec: { ...simulable.spec, options: { ...simulable.spec.options, kvTokens, maxBatchedTokens: 512 } },
});

/** Requests of different lengths, one each 40 ms; the same ones for both. */
const rows = Array.from({ length: 30 }, (_, i) => ({
  atS: i * 0.04,
  promptTokens: 20 + ((i * 97) % 400),
  outputTokens: 1 + ((i * 31) % 60),
}));

function servedAndSimulated(simulable: Simulable, seed = 0) {
  const { source, goTo, ask } = driven(simulable, { seed });
  const served = rows.map(({ atS, promptTokens, outputTokens }, i) => {
    goTo(atS);
    return ask(prompt(i, promptTokens), outputTokens);
  });
  goTo(1000);
  source.stop();
  const load = {
    arrivalsS: rows.map(({ atS }) => atS),
    promptTokens: rows.map(({ promptTokens }) => promptTokens),
    outputTokens: rows.map(({ outputTokens }) => outputTokens),
    maxConcurrency: null,
  };
  const outcome = simulate(simulable.spec, load, simulable.drafts, seed);
  const simulated = rows.map((_, i) => {
    const events: [number, number][] = [];
    outcome.eachToken(i, (atS, tokens) => events.push([atS, tokens]));
    return events;
  });
  return { served, simulated, outcome, state: source.state() };
}

describe.each(engines)('the served %s', (engine) => {
  it('gives each token at the time of the simulation', () => {
    const { served, simulated, outcome } = servedAndSimulated(able(engine));
    expect(served.map(({ events }) => events)).toEqual(simulated);
    expect(served.map(({ endS }) => endS)).toEqual([...outcome.endS]);
    expect(served.every(({ reason }) => reason === 'length')).toBe(true);
  });

  it('does so when the cache is short, and its state is that of the simulation', () => {
    const { served, simulated, outcome, state } = servedAndSimulated(cramped(able(engine), 1600));
    expect(served.map(({ events }) => events)).toEqual(simulated);
    expect(state).toMatchObject({ steps: outcome.steps, preemptions: outcome.preemptions, running: 0, waiting: 0 });
    // The others keep room for answers.
    if (engine === 'vllm') expect(state.preemptions).toBeGreaterThan(0);
    expect(state.kvTokensUsed).toBe(0);
  });

  it('does so with drafts, several tokens to an event', () => {
    const drafting = able(engine, { speculative_method: 'ngram', speculative_tokens: 3 });
    const { served, simulated, state } = servedAndSimulated(drafting, 5);
    expect(served.map(({ events }) => events)).toEqual(simulated);
    expect(state.draftedTokens).toBe(3 * state.drafts);
    expect(state.acceptedTokens / state.draftedTokens).toBeGreaterThan(0.2);
    expect(state.acceptedTokens / state.draftedTokens).toBeLessThan(0.6);
    expect(state.kvTokensUsed).toBeCloseTo(0);
  });

  it('forgets a client that is gone, wherever its request is', () => {
    const { source, goTo, ask } = driven(able(engine));
    const whole = able(engine).spec.costs.requestS;
    const all: Got[] = [];
    // In the front end, in the middle of a prompt, and while it decodes.
    for (let i = 0; i < 12; i++) all.push(ask(prompt(i, 6000), 500));
    goTo(whole / 2);
    all[0]?.cancel();
    for (let atS = whole; source.state().running === 0; atS += 0.01) goTo(atS);
    all[1]?.cancel();
    expect(all[1]?.events).toEqual([]);
    for (let atS = 0; (all[2] as Got).events.length < 3; atS += 0.01) goTo(atS);
    for (const one of all) one.cancel();
    expect(source.state()).toMatchObject({ running: 0, waiting: 0, kvTokensUsed: 0 });
    const after = ask(prompt(50, 100), 4);
    goTo(1000);
    expect(after.events).toHaveLength(4);
    expect(all[2]?.reason).toBeUndefined();
    source.stop();
  });
});

describe('answers', () => {
  it('are the same for the same seed and prompt, and others for others', () => {
    const answer = (seed: number, id: number): Got => {
      const { source, goTo, ask } = driven(able(), { seed });
      const got = ask(prompt(id, 50), 4000, false);
      goTo(1000);
      source.stop();
      return got;
    };
    const [first, same, otherSeed, otherPrompt] = [answer(1, 1), answer(1, 1), answer(2, 1), answer(1, 2)];
    expect(same).toMatchObject({ text: first.text, events: first.events });
    expect(first.reason).toBe('stop');
    expect(first.text.trim().split(' ')).toHaveLength(first.events.length);
    for (const other of [otherSeed, otherPrompt]) expect(other.text).not.toBe(first.text);
  });

  it('have lengths like those of people’s chats where nothing pins them', () => {
    const { source, goTo, ask } = driven(able());
    const all = Array.from({ length: 400 }, (_, i) => ask(prompt(i, 10), 4000, false));
    goTo(1000);
    source.stop();
    const lengths = all.map(({ events }) => events.length).sort((a, b) => a - b);
    expect(lengths[200]).toBeGreaterThan(100);
    expect(lengths[200]).toBeLessThan(160);
    const mean = lengths.reduce((a, b) => a + b, 0) / 400;
    expect(mean).toBeGreaterThan(170);
    expect(mean).toBeLessThan(260);
  });

  it('end at max_tokens, and are refused where they can never be computed', () => {
    const { source, goTo, ask } = driven(cramped(able(), 1600));
    const cut = ask(prompt(1, 10), 1, false);
    const never = ask(prompt(2, 1500), 200);
    goTo(100);
    source.stop();
    expect(cut).toMatchObject({ reason: 'length', failed: undefined });
    expect(never).toMatchObject({ events: [], failed: expect.stringContaining('1700 tokens') });
  });
});

describe('prefix caching', () => {
  const two = (prefixCaching: boolean) => {
    const { source, goTo, ask } = driven(able(), { prefixCaching });
    const first = ask(prompt(1, 2000), 8);
    goTo(100);
    const again = ask(prompt(1, 2000), 8);
    goTo(200);
    source.stop();
    const ttft = (got: Got, atS: number): number => (got.events[0]?.[0] ?? Number.NaN) - atS;
    return { first, again, state: source.state(), faster: ttft(again, 100) < ttft(first, 0) / 1.5, source };
  };

  it('leaves all but the last block of a prompt that was there before', () => {
    const { first, again, state, faster } = two(true);
    expect(first.cached).toBe(0);
    expect(again.cached).toBe(1984);
    expect(state).toMatchObject({ prefixQueries: 4000, prefixHits: 1984 });
    expect(faster).toBe(true);
  });

  it('is not there when it is off', () => {
    const { again, state, faster } = two(false);
    expect(again.cached).toBe(0);
    expect(state).toMatchObject({ prefixQueries: 0, prefixHits: 0 });
    expect(faster).toBe(false);
  });

  it('is forgotten on request', () => {
    const { source, goTo, ask } = driven(able(), { prefixCaching: true });
    ask(prompt(1, 2000), 8);
    expect(source.resetPrefixCache()).toBe(true);
    goTo(100);
    expect(source.resetPrefixCache()).toBe(true);
    const again = ask(prompt(1, 2000), 8);
    goTo(200);
    source.stop();
    expect(again.cached).toBe(0);
  });

  it('gives way to requests that run', () => {
    const { source, goTo, ask } = driven(cramped(able(), 3200), { prefixCaching: true });
    ask(prompt(1, 1600), 4);
    goTo(100);
    ask(prompt(2, 2400), 4);
    goTo(200);
    const again = ask(prompt(1, 1600), 4);
    goTo(300);
    source.stop();
    // 3200 less what the second one had: 2404 tokens in blocks of 16.
    expect(again.cached).toBe(784);
  });
});

it('spreads requests over the copies of the model', () => {
  const { source, goTo, ask } = driven(able('vllm', { data_parallel: 2 }));
  const one = driven(able('vllm'));
  const both = Array.from({ length: 20 }, (_, i) => ask(prompt(i, 3000), 50));
  const alone = Array.from({ length: 20 }, (_, i) => one.ask(prompt(i, 3000), 50));
  for (const drive of [{ goTo }, one]) drive.goTo(1000);
  const last = (all: readonly Got[]): number => Math.max(...all.map(({ endS }) => endS ?? Number.NaN));
  expect(last(both)).toBeLessThan(0.75 * last(alone));
  source.stop();
  one.source.stop();
});
