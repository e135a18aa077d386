import type { Configuration } from '../records/settings.ts';
import { applyAlternative, type SearchSpace } from '../records/space.ts';

/** The baseline and, for every alternative, what it makes of the baseline: each value of a setting occurs at least once. */
export const spanned = (
  space: SearchSpace,
): readonly { readonly configuration: Configuration; readonly stage?: string }[] => [
  { configuration: space.baseline },
  ...space.stages.flatMap((s) =>
    s.alternatives.map((a) => ({ configuration: applyAlternative(space.baseline, a), stage: s.name })),
  ),
];
