import { type StudySpec, studySpec } from '../records/study.ts';

type Part = Record<string, unknown> | unknown[];

/**
 * The study without the keys that say what a study file means without them: parsed again it is the same. One that does
 * not parse, because a part of it is hidden, stays as it is.
 */
export function withoutDefaults(study: StudySpec): unknown {
  const whole = meaningOf(study);
  const brief = structuredClone(study) as Record<string, unknown>;
  if (whole === null) return brief;
  drop(brief, () => meaningOf(brief) === whole);
  return brief;
}

/** Takes out every key without which `isSame` still holds, the outer ones first. */
function drop(part: Part, isSame: () => boolean): void {
  const holder = part as Record<string, unknown>;
  for (const key of Object.keys(holder)) {
    const value = holder[key];
    if (!Array.isArray(part)) {
      delete holder[key];
      if (isSame()) continue;
      holder[key] = value;
    }
    if (typeof value === 'object' && value !== null) drop(value as Part, isSame);
  }
}

/** What a study says, as a text that is equal for equal studies; null where it is none. */
function meaningOf(study: unknown): string | null {
  const parsed = studySpec.safeParse(study);
  return parsed.success ? JSON.stringify(parsed.data) : null;
}
