import type { RunData } from '../records/run.ts';
import { type Configuration, configurationKey } from '../records/settings.ts';
import { applyAlternative, type SearchSpace } from '../records/space.ts';
import type { Decisions } from '../search/decisions.ts';
import type { Scope } from './info.ts';

/** Settings that change the numbers a model computes with, and so possibly its answers. */
const numberFormats = ['quantization', 'kv_cache_dtype'] as const;

/** Combinations beyond this are multiplied instead of listed: the figure then counts equal ones twice. */
const mostListed = 50_000;

/** What the run covered, against what it could have. */
export function scopeOf({ study, space, trials }: RunData, decisions: Decisions): Scope {
  const tried = new Map<string, boolean>();
  for (const t of trials) {
    const key = configurationKey(t.configuration);
    tried.set(key, (tried.get(key) ?? false) || t.fate === 'measured');
  }
  const settled = new Set(decisions.stages.filter((s) => s.verdict !== 'not_tried').map((s) => s.name));
  const [base, best] = [decisions.baseline.configuration.settings, decisions.winner.configuration.settings];
  return {
    configurationsTried: tried.size,
    configurationsSpanned: spanOf(space),
    stagesNotTried: space.stages.map((s) => s.name).filter((name) => !settled.has(name)),
    failedConfigurations: [...tried.values()].filter((measured) => !measured).length,
    closeCalls: study.repeats.close_calls,
    numberFormats: numberFormats.filter((name) => base[name] !== best[name]),
    workloads: study.workloads.length,
  };
}

/** Number of different configurations when each stage may keep what came in or take any of its alternatives. */
function spanOf({ baseline, stages }: SearchSpace): number {
  let reached = new Map<string, Configuration>([[configurationKey(baseline), baseline]]);
  let factor = 1;
  for (const { alternatives } of stages) {
    if (reached.size * (alternatives.length + 1) > mostListed) {
      factor *= alternatives.length + 1;
      continue;
    }
    const next = new Map(reached);
    for (const configuration of reached.values()) {
      for (const alternative of alternatives) {
        const made = applyAlternative(configuration, alternative);
        next.set(configurationKey(made), made);
      }
    }
    reached = next;
  }
  return reached.size * factor;
}
