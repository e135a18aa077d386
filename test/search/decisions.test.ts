import { describe, expect, it } from 'vitest';
import { type Configuration, configurationKey } from '../../src/records/settings.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { candidateOf, decide } from '../../src/search/decisions.ts';
import { nextProposals, reservedTrials } from '../../src/search/plan.ts';
import { staged } from '../../src/search/staged.ts';
import { isBudgetSpent } from '../../src/study/tune.ts';
import { measureIn, summaryOf, twoStageSpace, twoStages } from '../fixtures/trials.ts';

type World = Parameters<typeof measureIn>[0];

function play(world: World, study = twoStages, unfit: (c: Configuration) => boolean = () => false): FinishedTrial[] {
  const measured = measureIn(world);
  const measure: typeof measured = (proposal, trials) =>
    measured(proposal, trials).map((t) => (t.purpose === 'confirmation' && unfit(t.configuration) ? died(t) : t));
  let trials: FinishedTrial[] = [];
  for (let i = 0; i < 100; i++) {
    const [proposal] = nextProposals(staged, { study, space: twoStageSpace, budgetSpent: false }, trials, [], 1);
    if (!proposal) return trials;
    trials = [...trials, ...measure(proposal, trials)];
  }
  throw new Error('the study does not end');
}

/** A confirmation that was measured, and then died in the burst. */
const died = (trial: FinishedTrial): FinishedTrial => ({
  ...trial,
  fate: 'crashed_under_load',
  failure: { message: 'the engine ended under the stress burst', logTail: [] },
});

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

describe('a winner that its confirmation finds unfit', () => {
  const [quantization, batch] = ['q4_0', 16];
  const speed = ({ settings }: Configuration): number =>
    100 *
    (settings.quantization === quantization ? 2 : settings.quantization === 'q8_0' ? 1.5 : 1) *
    (settings.max_running_requests === batch ? 1.6 : settings.max_running_requests === 8 ? 1.4 : 1);
  const confirmed = (trials: readonly FinishedTrial[]) =>
    trials.filter((t) => t.purpose === 'confirmation').map((t) => [t.configuration.settings, t.fate]);
  const settingsOfWinner = (trials: readonly FinishedTrial[]) =>
    decide(twoStages, twoStageSpace, trials, true).winner.configuration.settings;

  it('is replaced by the runner-up, which is confirmed in its turn', () => {
    const trials = play(speed, twoStages, ({ settings }) => settings.max_running_requests === batch);
    expect(confirmed(trials)).toEqual([
      [{ quantization, max_running_requests: 16 }, 'crashed_under_load'],
      [{ quantization, max_running_requests: 8 }, 'measured'],
    ]);
    const { stages, winner } = decide(twoStages, twoStageSpace, trials);
    expect(winner.configuration.settings).toEqual({ quantization, max_running_requests: 8 });
    const out = stages[1]?.challengers.find((c) => c.configuration.settings.max_running_requests === 16);
    expect(out).toMatchObject({ value: null, scores: [], disqualified: expect.stringMatching(/stress burst/) });
    expect(stages[1]?.ranking).not.toContain(out);
    // On the further workloads both were measured, the baseline but once.
    const further = trials.filter((t) => t.purpose === 'further').map((t) => t.configuration.settings);
    expect(further.filter((s) => s.max_running_requests === undefined)).toHaveLength(1);
    expect(further).toHaveLength(3);
    expect(trials.filter((t) => t.purpose === 'baseline_again')).toHaveLength(1);
    for (const workload of ['chat', 'long']) {
      expect(candidateOf(twoStages, out?.configuration as Configuration, workload, trials).value).toBeNull();
    }
  });

  it('gives way to the baseline when it was the only candidate, and the baseline needs no burst', () => {
    const space = {
      baseline: twoStageSpace.baseline,
      stages: [{ name: 'quantization', alternatives: [{ settings: { quantization } }] }],
    };
    const measure = measureIn(speed);
    let trials: FinishedTrial[] = [];
    for (;;) {
      const [next] = nextProposals(staged, { study: twoStages, space, budgetSpent: false }, trials, [], 1);
      if (!next) break;
      trials = [...trials, ...measure(next, trials).map((t) => (t.purpose === 'confirmation' ? died(t) : t))];
      expect(trials.length).toBeLessThan(20);
    }
    expect(confirmed(trials)).toEqual([[{ quantization }, 'crashed_under_load']]);
    const { winner, stages } = decide(twoStages, space, trials);
    expect(winner.configuration).toEqual(space.baseline);
    expect(stages[0]).toMatchObject({ verdict: 'none_qualified', wanted: [] });
  });

  it('takes what was built on it along: later stages are measured on what wins without it', () => {
    // Stage two brings nothing, so what is confirmed is the winner of stage one.
    const slow: World = (c) => (c.settings.max_running_requests === undefined ? speed(c) : speed(c) / 4);
    const isUnfit = ({ settings }: Configuration): boolean => settings.quantization === quantization;
    const trials = play(slow, twoStages, isUnfit);
    expect(confirmed(trials)).toEqual([
      [{ quantization }, 'crashed_under_load'],
      [{ quantization: 'q8_0' }, 'measured'],
    ]);
    const at = trials.findIndex((t) => t.fate === 'crashed_under_load');
    const after = trials.slice(at + 1).filter((t) => t.stage === 'batch' && t.purpose === 'stage');
    expect(after.map((t) => t.configuration.settings)).toEqual([
      { quantization: 'q8_0', max_running_requests: 8 },
      { quantization: 'q8_0', max_running_requests: 16 },
    ]);
    expect(decide(twoStages, twoStageSpace, trials).complete).toBe(true);
  });

  it('and one after the other: the study ends with the baseline, each of them confirmed once', () => {
    const trials = play(speed, twoStages, () => true);
    const keys = trials.filter((t) => t.purpose === 'confirmation').map((t) => configurationKey(t.configuration));
    expect(keys.length).toBeGreaterThan(4);
    expect(new Set(keys).size).toBe(keys.length);
    expect(settingsOfWinner(trials)).toEqual({});
  });

  it('is what it was after a start that failed or numbers that were refused', () => {
    for (const fate of ['start_failed', 'timed_out', 'invalid_measurement'] as const) {
      const unsure = play(speed).map((t) => (t.purpose === 'confirmation' ? { ...t, fate } : t));
      expect(settingsOfWinner(unsure)).toEqual({ quantization, max_running_requests: 16 });
    }
  });

  it('leaves enough of the budget for the next one, and the reserve does not change while it is used', () => {
    const budgeted = (max: number): FinishedTrial[] => {
      const study = { ...twoStages, budget: { max_trials: max } };
      const measure = measureIn(speed);
      let trials: FinishedTrial[] = [];
      let wasSpent = false;
      while (trials.length < max) {
        const budgetSpent = isBudgetSpent(study, trials);
        expect(budgetSpent || !wasSpent).toBe(true);
        wasSpent = budgetSpent;
        const [next] = nextProposals(staged, { study, space: twoStageSpace, budgetSpent }, trials, [], 1);
        if (!next) return trials;
        const unfit = (t: FinishedTrial): boolean =>
          t.purpose === 'confirmation' && t.configuration.settings.max_running_requests === batch;
        trials = [...trials, ...measure(next, trials).map((t) => (unfit(t) ? died(t) : t))];
      }
      return trials;
    };
    for (let max = 11; max < 20; max++) {
      const trials = budgeted(max);
      expect(trials.length).toBeLessThanOrEqual(max);
      expect(confirmed(trials).at(-1), `${max} trials`).toEqual([
        { quantization, max_running_requests: 8 },
        'measured',
      ]);
    }
    expect(reservedTrials(twoStages, [])).toBe(6);
    const without = { ...twoStages, limits: { ...twoStages.limits, stress_burst_tokens: 0 } };
    expect(reservedTrials(without, [])).toBe(4);
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
