import type { Problem } from '../../kit/errors.ts';

export type Fields = ReturnType<typeof fieldsOf>;

/**
 * The keys of a parsed JSON object, each read as what it should be. What is not is undefined, and where it had to be
 * there it goes to `problems`; `place` is what they call the object.
 */
export function fieldsOf(json: unknown, place: string, problems: Problem[]) {
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  if (!isObject) problems.push({ place, message: 'is not a JSON object' });
  const fields = isObject ? (json as Readonly<Record<string, unknown>>) : {};

  /** Whether the key is there with a value. */
  const has = (key: string): boolean => fields[key] != null;

  const wrong = (key: string, wanted: string, hint?: string): void => {
    const message = has(key) ? `is not ${wanted}` : 'is missing';
    problems.push({ place: `${place} ${key}`, message, ...(hint === undefined || has(key) ? {} : { hint }) });
  };

  function list<T>(key: string, what: string, isItem: (value: unknown) => value is T): readonly T[] | undefined {
    const value = fields[key];
    if (Array.isArray(value) && value.every(isItem)) return value;
    wrong(key, `a list of ${what}`, 'save the result with --save-result --save-detailed');
    return undefined;
  }

  const maybeNumber = (key: string): number | undefined => {
    const value = fields[key];
    return isNumber(value) ? value : undefined;
  };

  return {
    has,
    maybeNumber,
    maybeText(key: string): string | undefined {
      const value = fields[key];
      return typeof value === 'string' ? value : undefined;
    },
    /** A number, or the text `inf`. */
    maybeRate: (key: string): number | undefined =>
      fields[key] === 'inf' ? Number.POSITIVE_INFINITY : maybeNumber(key),
    number(key: string): number | undefined {
      const value = maybeNumber(key);
      if (value === undefined) wrong(key, 'a number');
      return value;
    },
    numbers: (key: string) => list(key, 'numbers', isNumber),
    texts: (key: string) => list(key, 'texts', (value): value is string => typeof value === 'string'),
    lists: (key: string) =>
      list(key, 'lists of numbers', (value): value is number[] => Array.isArray(value) && value.every(isNumber)),
    /** Every text under a key that is not one of these. */
    otherTexts: (known: ReadonlySet<string>): Record<string, string> =>
      Object.fromEntries(
        Object.entries(fields).filter(
          (entry): entry is [string, string] => typeof entry[1] === 'string' && !known.has(entry[0]),
        ),
      ),
  };
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
