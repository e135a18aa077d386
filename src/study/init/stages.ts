import type { Settings } from '../../records/settings.ts';

/** What one engine would try to decide one thing. */
export interface StageOfEngine {
  readonly engine: string;
  readonly name: string;
  readonly alternatives: readonly Settings[];
}

/** What several engines would try to decide the same thing. */
export interface MergedStage {
  readonly name: string;
  readonly alternatives: readonly {
    readonly settings: Settings;
    /** The engines that have it. */
    readonly engines: readonly string[];
  }[];
}

/** What changes most comes first: what is decided later is decided on top of it. */
const order = [/quantization/, /attention/];

/**
 * One stage for each name that engines give to theirs, with the alternatives of all of them; equal ones once. With several
 * engines number formats come first, then attention, as the reference study has it; a single engine knows its own order.
 */
export function mergeStages(stages: readonly StageOfEngine[]): readonly MergedStage[] {
  const merged = new Map<
    string,
    { name: string; alternatives: Map<string, { settings: Settings; engines: string[] }> }
  >();
  for (const { engine, name, alternatives } of stages) {
    const key = name.toLowerCase().replaceAll(/[\s_-]+/g, ' ');
    const stage = merged.get(key) ?? { name, alternatives: new Map() };
    merged.set(key, stage);
    for (const settings of alternatives) {
      const sorted = Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1));
      const same = JSON.stringify(sorted);
      const alternative = stage.alternatives.get(same) ?? { settings, engines: [] };
      stage.alternatives.set(same, alternative);
      if (!alternative.engines.includes(engine)) alternative.engines.push(engine);
    }
  }
  const several = new Set(stages.map(({ engine }) => engine)).size > 1;
  const rank = ({ name }: { readonly name: string }): number => {
    if (!several) return 0;
    const found = order.findIndex((pattern) => pattern.test(name.toLowerCase()));
    return found < 0 ? order.length : found;
  };
  return [...merged.values()]
    .filter(({ alternatives }) => alternatives.size > 0)
    .sort((a, b) => rank(a) - rank(b))
    .map(({ name, alternatives }) => ({ name, alternatives: [...alternatives.values()] }));
}
