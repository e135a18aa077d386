import { InputError, type Problem } from '../../kit/errors.ts';

/** What goes wrong when a request comes in. */
export type Failure =
  /** The process ends, and every connection breaks. */
  | { readonly kind: 'die'; readonly request: number }
  /** The engine stands still for good; its health stays good. */
  | { readonly kind: 'hang'; readonly request: number }
  /** That one request is answered with 503. */
  | { readonly kind: 'refuse'; readonly request: number }
  /** The engine stands still for so many real seconds. */
  | { readonly kind: 'stall'; readonly request: number; readonly durationS: number };

export const failureWords = 'die@N, hang@N, refuse@N or stall@N:SECONDS';

/** Failures that are to come, by the number of the request that brings them. */
export interface Failures {
  /** Requests for answers so far. */
  readonly requests: number;
  /** Those that have not happened yet, in words. */
  readonly toCome: readonly string[];
  plan(failures: readonly Failure[]): void;
  /** Counts one request more; what happens with it. */
  next(): readonly Failure[];
}

export function createFailures(): Failures {
  let requests = 0;
  let planned: readonly Failure[] = [];
  return {
    get requests() {
      return requests;
    },
    get toCome() {
      return planned.map(wordsOf);
    },
    plan(failures) {
      planned = [...planned, ...failures];
    },
    next() {
      requests++;
      const now = planned.filter(({ request }) => request === requests);
      if (now.length > 0) planned = planned.filter(({ request }) => request !== requests);
      return now;
    },
  };
}

export const wordsOf = (failure: Failure): string =>
  `${failure.kind}@${failure.request}${failure.kind === 'stall' ? `:${failure.durationS}` : ''}`;

/**
 * Reads failures in words: `die@5` is for the fifth request since the start, `die@+1` for the next one. Throws an
 * InputError with all that are wrong.
 *
 * @param requests those that came so far
 */
export function readFailures(words: readonly string[], place: string, requests = 0): readonly Failure[] {
  const problems: Problem[] = [];
  const read = words.flatMap((word): Failure[] => {
    const [, kind, sign, digits, seconds] =
      /^(die|hang|refuse|stall)@(\+?)(\d{1,9})(?::(\d+(?:\.\d+)?))?$/.exec(word) ?? [];
    const number = Number(digits) + (sign === '+' ? requests : 0);
    const wrong =
      kind === undefined
        ? `“${word}” is no failure`
        : (kind === 'stall') !== (seconds !== undefined)
          ? `“${word}” ${seconds === undefined ? 'does not say for how many seconds' : 'has seconds, which only stall has'}`
          : number <= requests
            ? `“${word}” is for a request that ${requests === 0 ? 'never comes: they count from 1' : `has come already: there were ${requests}`}`
            : undefined;
    if (wrong !== undefined) {
      problems.push({ place, message: wrong, hint: `${failureWords}, N the number of a request, or +N from now` });
      return [];
    }
    if (kind === 'stall') return [{ kind, request: number, durationS: Number(seconds) }];
    return [{ kind: kind as 'die' | 'hang' | 'refuse', request: number }];
  });
  if (problems.length > 0) throw new InputError(problems);
  return read;
}
