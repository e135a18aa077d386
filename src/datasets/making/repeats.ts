import type { RequestSpec } from '../../records/request.ts';

/**
 * What to say of prompts that come more than once in a load; null where each is its own. `since` goes on after the
 * number of them.
 */
export function repeatNote(requests: readonly Pick<RequestSpec, 'prompt'>[], since = ''): string | null {
  const repeats = requests.length - new Set(requests.map(({ prompt }) => prompt)).size;
  if (repeats === 0) return null;
  return (
    `${repeats} of ${requests.length} prompts ${repeats === 1 ? 'is a repeat' : 'are repeats'}${since}; a prefix cache ` +
    'answers repeats faster than prompts of their own.'
  );
}

/** The notes that there are. */
export const present = (...notes: readonly (string | null)[]): string[] => notes.filter((note) => note !== null);
