import { expect, it } from 'vitest';
import { languages } from '../../src/i18n/table.ts';

/** Every message as text; functions called with numbers and recognisable words. */
function textsOf(value: unknown, path: string): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') {
    const call = value as (...args: unknown[]) => string;
    return [0, 1, 2, 5].flatMap((n): [string, string][] => {
      for (const args of [
        Array(5).fill('WORD'),
        [n, n, n, n],
        ['WORD', n, n],
        [n, 'WORD', 'WORD'],
        [['WORD', 'WORD']],
        ['WORD', 'WORD', n],
      ]) {
        try {
          const text = call(...args);
          if (typeof text === 'string' && !/NaN/.test(text)) return [[`${path}(${n})`, text]];
        } catch {
          // These were not the arguments of this message; the next ones may be.
        }
      }
      return [[path, '']];
    });
  }
  return Object.entries(value as object).flatMap(([key, inner]) => textsOf(inner, `${path}.${key}`));
}

it.each(Object.entries(languages))('%s has words everywhere', (name, messages) => {
  const texts = textsOf(messages, name);
  expect(texts.length).toBeGreaterThan(200);
  expect(texts.filter(([, text]) => text.trim() === '' || /undefined|NaN|\[object/.test(text))).toEqual([]);
  expect(Intl.NumberFormat.supportedLocalesOf(messages.locale)).toEqual([messages.locale]);
});

it('counts in English', () => {
  const { en } = languages;
  expect(en.conclusion.runs(1)).toBe('1 run');
  expect(en.conclusion.runs(3)).toBe('geometric mean of 3 runs');
  expect(en.notes.failed(1)).toContain('1 configuration could');
  expect(en.notes.failed(2)).toContain('2 configurations could not be measured, so nothing is known of their speed');
  expect(en.trial.logTail(1)).toBe('Last 1 line of the log');
  expect(en.quality.requests(1000, 998, 1, 1)).toBe(
    'Of 1,000 requests in all trials with a result, 998 succeeded, 1 failed, and 1 was not sent.',
  );
});
