import { describe, expect, it } from 'vitest';
import type { Configuration } from '../../src/records/settings.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { decide } from '../../src/search/decisions.ts';
import { nextProposals } from '../../src/search/plan.ts';
import { staged } from '../../src/search/staged.ts';
import { measureIn, summaryOf, twoStageSpace, twoStages } from '../fixtures/trials.ts';

type World = Parameters<typeof measureIn>[0];

function play(world: World, study = twoStages): FinishedTrial[] {
  const measure = measureIn(world);
  let trials: FinishedTrial[] = [];
  for (let i = 0; i < 100; i++) {
    const [proposal] = nextProposals(staged, { study, space: twoStageSpace, budgetSpent: false }, trials, [], 1);
    if (!proposal) return trials;
    trials = [...trials, ...measure(proposal, trials)];
  }
  throw new Error('the study does not end');
}

const isBaseline = (c: Configuration): boolean => Object.keys(c.settings).length === 0;

describe('a stage', () => {
  it('is decided by one run each where the difference is far beyond noise', () => {
    const trials = play((c) =>
      c.settings.quantization === 'q4_0' ? 300 : c.settings.quantization === 'q8_0' ? 200 : 100,
    );
    const { stages } = decide(twoStages, twoStageSpace, trials);
    expect(stages[0]?.verdict).toBe('better');
    expect(stages[0]?.winner.configuration.settings).toEqual({ quantization: 'q4_0' });
    expect(trials.filter((t) => t.stage === 'quantization' && t.purpose === 'repeat')).toEqual([]);
    expect(stages[0]?.comparison?.ratio).toBeCloseTo(3, 10);
  });

  it('repeats a close call from fresh starts, interleaved, and keeps the incumbent when noise covers it', () => {
    const noise = [0, 0.03, -0.02];
    const trials = play((c, _, repeat) => (isBaseline(c) ? 100 : 102) * (1 + (noise[repeat] ?? 0)));
    const { stages, winner } = decide(twoStages, twoStageSpace, trials);
    expect(stages.map((s) => s.verdict)).toEqual(['no_significant_difference', 'no_significant_difference']);
    expect(winner.configuration).toEqual(twoStageSpace.baseline);
    const first = trials
      .filter((t) => t.stage === 'quantization')
      .map((t) => t.configuration.settings.quantization ?? 'f16');
    expect(first.slice(0, 2)).toEqual(['q8_0', 'q4_0']);
    for (const round of [first.slice(2, 5), first.slice(5, 8)])
      expect([...round].sort()).toEqual(['f16', 'q4_0', 'q8_0']);
    expect(first).toHaveLength(8);
    const starts = trials.filter((t) => t.stage !== undefined).map((t) => t.engineStart);
    expect(new Set(starts).size).toBe(starts.length);
  });

  it('names a small difference once repeats have shown that the noise is smaller', () => {
    const trials = play((c, _, repeat) => (c.settings.quantization === 'q4_0' ? 110 : 100) * (1 + 0.001 * repeat));
    const { stages } = decide(twoStages, twoStageSpace, trials);
    expect(stages[0]?.verdict).toBe('better');
    expect(stages[0]?.winner.configuration.settings).toEqual({ quantization: 'q4_0' });
  });

  it('prefers fewer settings where noise does not tell challengers apart', () => {
    const space = {
      ...twoStageSpace,
      stages: [
        {
          name: 'batch',
          alternatives: [
            { settings: { max_running_requests: 16, max_batched_tokens: 512 } },
            { settings: { max_running_requests: 16 } },
          ],
        },
      ],
    };
    const measure = measureIn((c) => (isBaseline(c) ? 100 : c.settings.max_batched_tokens ? 201 : 200));
    let trials: FinishedTrial[] = [];
    for (;;) {
      const [next] = nextProposals(staged, { study: twoStages, space, budgetSpent: false }, trials, [], 1);
      if (!next) break;
      trials = [...trials, ...measure(next, trials)];
    }
    expect(decide(twoStages, space, trials).winner.configuration.settings).toEqual({ max_running_requests: 16 });
  });

  it('goes on when alternatives fail, and does not propose them again', () => {
    const trials = play((c) =>
      c.settings.quantization === 'q4_0' ? { fate: 'out_of_memory' } : isBaseline(c) ? 100 : 200,
    );
    const failed = trials.filter((t) => t.fate === 'out_of_memory');
    expect(failed).toHaveLength(1);
    expect(decide(twoStages, twoStageSpace, trials).stages[0]?.winner.configuration.settings.quantization).toBe('q8_0');
  });

  it('goes on without its baseline, and can still recommend', () => {
    const trials = play((c) => (isBaseline(c) ? { fate: 'out_of_memory' } : 200));
    const { winner, stages } = decide(twoStages, twoStageSpace, trials);
    expect(winner.value).not.toBeNull();
    expect(stages[0]?.comparison).toBeNull();
    expect(trials.filter((t) => isBaseline(t.configuration))).toHaveLength(1);
  });

  it('recommends nothing when nothing qualified', () => {
    const trials = play(() => ({ fate: 'start_failed' }));
    expect(decide(twoStages, twoStageSpace, trials).winner.value).toBeNull();
    expect(trials).toHaveLength(5);
  });

  it('measures again what was refused as invalid, and not for ever', () => {
    const once = play((c, _, repeat) =>
      c.settings.quantization === 'q4_0' && repeat === 0 ? { fate: 'invalid_measurement' } : isBaseline(c) ? 100 : 200,
    );
    expect(once.some((t) => t.configuration.settings.quantization === 'q4_0' && t.fate === 'measured')).toBe(true);
    const always = play((c) =>
      c.settings.quantization === 'q4_0' ? { fate: 'invalid_measurement' } : isBaseline(c) ? 100 : 200,
    );
    expect(always.filter((t) => t.fate === 'invalid_measurement')).toHaveLength(1 + twoStages.repeats.close_calls + 2);
  });

  it('lets no configuration win that breaks a constraint', () => {
    const study = { ...twoStages, constraints: [{ metric: 'p99_ttft_ms' as const, at_most: 150 }] };
    const slow = { ...summaryOf(500) };
    const fast = summaryOf(100);
    const ttft = { ...(fast.latencies.ttft as NonNullable<typeof fast.latencies.ttft>), percentiles: { '99': 0.1 } };
    const within = { ...fast, latencies: { ...fast.latencies, ttft } };
    const trials = play(
      (c) => ({ fate: 'measured', summary: c.settings.quantization === 'q4_0' ? slow : within }),
      study,
    );
    const { winner, stages } = decide(study, twoStageSpace, trials);
    expect(winner.configuration.settings.quantization).not.toBe('q4_0');
    expect(stages[0]?.challengers[1]?.disqualified).toContain('p99_ttft_ms');
  });
});

describe('the end of a study', () => {
  it('measures the baseline again, and the winner, each from a start of its own', () => {
    const trials = play((c) => (c.settings.quantization === 'q4_0' ? 300 : 100));
    for (const purpose of ['baseline', 'baseline_again', 'confirmation']) {
      const own = trials.filter((t) => t.purpose === purpose);
      expect(own, purpose).toHaveLength(1);
      expect(trials.filter((t) => t.engineStart === own[0]?.engineStart)).toHaveLength(1);
    }
    expect(trials.filter((t) => t.purpose === 'further').map((t) => t.workload)).toEqual(['long', 'long']);
  });
});

describe('decisions', () => {
  it('of a stage are not turned by what is measured later', () => {
    const trials = play((c, _, repeat) =>
      isBaseline(c) ? 100 : c.settings.max_running_requests ? 90 : 140 - 10 * repeat,
    );
    const whole = decide(twoStages, twoStageSpace, trials).stages.map((s) => s.winner.configuration);
    const last = trials.at(-1) as FinishedTrial;
    const wild = { ...last, id: last.id + 1, fate: 'measured', summary: summaryOf(1) } as FinishedTrial;
    expect(decide(twoStages, twoStageSpace, [...trials, wild]).stages.map((s) => s.winner.configuration)).toEqual(
      whole,
    );
  });

  it('are made with what there is once the budget is spent', () => {
    const first = play(() => 100).slice(0, 1);
    const { stages, complete, winner } = decide(twoStages, twoStageSpace, first, true);
    expect(complete).toBe(true);
    expect(stages.map((s) => s.verdict)).toEqual(['not_tried', 'not_tried']);
    expect(winner.configuration).toEqual(twoStageSpace.baseline);
  });
});
