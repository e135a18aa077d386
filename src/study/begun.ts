import { external, untold } from '../engines/external.ts';
import { InputError } from '../kit/errors.ts';
import type { SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import type { RunStart } from '../store/store.ts';
import type { StudyFile } from './read.ts';

/**
 * The space with which a run that began goes on: the one that it began with. Throws an InputError where `file` and
 * `space` are not what was begun, since trials of another study would be compared with its trials.
 */
export function begunSpace(
  before: Pick<RunStart, 'study' | 'space'>,
  { study, place }: Pick<StudyFile, 'study' | 'place'>,
  space: SearchSpace,
): SearchSpace {
  const changed = Object.keys(study).filter(
    (key) => JSON.stringify(before.study[key as keyof StudySpec]) !== JSON.stringify(study[key as keyof StudySpec]),
  );
  const isSame = JSON.stringify(before.study) === JSON.stringify(study) && isSameSpace(before.space, space);
  if (isSame) return before.space;
  const what = changed.length > 0 ? changed : ['engine versions'];
  throw new InputError([
    {
      place: place(changed.slice(0, 1)),
      message: `the study is not the one that this run began with (changed: ${what.join(', ')})`,
      hint: 'undo the change, or choose another folder with --run',
    },
  ]);
}

/** A server that tells its version now and did not then, or the other way round, may well be the same. */
function isSameSpace(before: SearchSpace, now: SearchSpace): boolean {
  const tolerant = [before, now].some((space) => enginesIn(space).some(isUntold));
  const text = (space: SearchSpace): string =>
    JSON.stringify(space, (_, value: unknown) =>
      tolerant && isExternal(value) ? { ...value, version: untold } : value,
    );
  return text(before) === text(now);
}

interface Named {
  readonly engine: string;
  readonly version?: string;
}

const enginesIn = ({ baseline, stages }: SearchSpace): readonly Named[] => [
  baseline,
  ...stages.flatMap(({ alternatives }) => alternatives.flatMap(({ engine }) => engine ?? [])),
];

const isExternal = (value: unknown): value is Named =>
  typeof value === 'object' && value !== null && 'engine' in value && value.engine === external.name;

const isUntold = (one: Named): boolean => isExternal(one) && one.version === untold;
