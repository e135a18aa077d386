import { describe, expect, it } from 'vitest';
import { type Configuration, configurationKey } from '../../src/records/settings.ts';
import { applyAlternative } from '../../src/records/space.ts';
import type { FinishedTrial } from '../../src/records/trial.ts';
import { nextProposals } from '../../src/search/plan.ts';
import type { Strategy } from '../../src/search/strategy.ts';
import { measureIn, twoStageSpace, twoStages } from '../fixtures/trials.ts';

/** What holds for every strategy. */
export function strategyContract(strategy: Strategy): void {
  const context = { study: twoStages, space: twoStageSpace, budgetSpent: false };
  const speed = ({ settings }: Configuration): number =>
    100 *
    (settings.quantization === 'q4_0' ? 2 : settings.quantization === 'q8_0' ? 1.5 : 1) *
    (settings.max_running_requests === 16 ? 1.6 : settings.max_running_requests === 8 ? 1.4 : 1);
  const measure = measureIn((c, _, repeat) => speed(c) * (1 + 0.01 * (repeat % 2)));

  const play = (finished: readonly FinishedTrial[] = [], until = 200): FinishedTrial[] => {
    let trials = [...finished];
    while (trials.length < until) {
      const [proposal] = nextProposals(strategy, context, trials, [], 1);
      if (!proposal) return trials;
      trials = [...trials, ...measure(proposal, trials)];
    }
    return trials;
  };

  describe(`strategy ${strategy.name}`, () => {
    it('comes to an end, with the baseline first and the confirmation last', () => {
      const trials = play();
      expect(trials.length).toBeLessThan(60);
      expect(trials[0]?.purpose).toBe('baseline');
      expect(trials.at(-1)?.purpose).toBe('confirmation');
      expect(trials.some((t) => t.purpose === 'baseline_again')).toBe(true);
    });

    it('stays within the space', () => {
      const values = (name: string): Set<unknown> =>
        new Set(twoStageSpace.stages.flatMap((s) => s.alternatives.map((a) => a.settings[name])));
      for (const { configuration } of play()) {
        for (const [name, value] of Object.entries(configuration.settings)) expect(values(name)).toContain(value);
      }
    });

    it('goes on from any moment as if nothing had happened', () => {
      // A resumed proposal of several workloads needs an engine start more; everything else is the same.
      const comparable = (trials: FinishedTrial[]): unknown[] => trials.map((t) => ({ ...t, engineStart: 0 }));
      const whole = play();
      for (let cut = 0; cut <= whole.length; cut++) {
        expect(comparable(play(whole.slice(0, cut)))).toEqual(comparable(whole));
      }
    });

    it('does not propose what is running', () => {
      const begun = measure(nextProposals(strategy, context, [], [], 1)[0] as never, []);
      const all = nextProposals(strategy, context, begun, [], 10);
      const rest = nextProposals(strategy, context, begun, all.slice(0, 1), 10);
      const keys = rest.map((p) => configurationKey(p.configuration));
      expect(all.length).toBeGreaterThan(1);
      expect(keys).not.toContain(configurationKey(all[0]?.configuration as Configuration));
    });

    it('finds the best of a surface without interactions', () => {
      const last = play().at(-1);
      const best = twoStageSpace.stages.reduce(
        (c, s) => applyAlternative(c, s.alternatives[1] as never),
        twoStageSpace.baseline,
      );
      expect(configurationKey(last?.configuration as Configuration)).toBe(configurationKey(best));
    });
  });
}
