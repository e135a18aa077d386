import { type Configuration, engineLabel } from '../records/settings.ts';
import { applyAlternative, type SearchSpace } from '../records/space.ts';
import { engineNamed } from './places.ts';

/** What a stage may build on, as far as engines go: the baseline, and each engine of the stages before as it came in. */
export function incumbentsOf(space: SearchSpace, stage: number): readonly Configuration[] {
  const before = space.stages.slice(0, stage).flatMap(({ alternatives }) => alternatives);
  const came = before.flatMap(({ engine, settings }): Configuration[] => (engine ? [{ ...engine, settings }] : []));
  const all = [space.baseline, ...came];
  return all.filter((one, i) => all.findIndex((other) => engineLabel(other) === engineLabel(one)) === i);
}

/**
 * The baseline and, for every alternative, what it makes of the baseline and of each engine that can be ahead by then and
 * that has such settings: each value of a setting occurs at least once.
 */
export const spanned = (
  space: SearchSpace,
): readonly { readonly configuration: Configuration; readonly stage?: string }[] => [
  { configuration: space.baseline },
  ...space.stages.flatMap(({ name, alternatives }, s) =>
    alternatives.flatMap((alternative) =>
      (alternative.engine ? [space.baseline] : incumbentsOf(space, s))
        .map((incumbent) => applyAlternative(incumbent, alternative))
        .filter(({ engine, settings }) => engineNamed(engine).settings.safeParse(settings).success)
        .map((configuration) => ({ configuration, stage: name })),
    ),
  ),
];
