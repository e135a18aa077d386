import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stopStrings } from '../../src/serving/stop-strings.ts';

const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 }), { maxLength: 12 });
const stop = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 });

function answer(texts: readonly string[], stops: readonly string[]) {
  const stream = stopStrings(stops);
  let text = '';
  for (const piece of texts) {
    const found = stream.push(piece);
    text += found.text;
    if (found.stopped) return { text, stopped: true };
  }
  return { text: text + stream.rest(), stopped: false };
}

it('finds one stop string wherever the pieces cut it', () => {
  fc.assert(
    fc.property(pieces, stop, (texts, only) => {
      const whole = texts.join('');
      const at = whole.indexOf(only);
      expect(answer(texts, [only])).toEqual(
        at < 0 ? { text: whole, stopped: false } : { text: whole.slice(0, at), stopped: true },
      );
    }),
  );
});

it('of several, never lets one through, and loses nothing when there is none', () => {
  fc.assert(
    fc.property(pieces, fc.array(stop, { minLength: 1, maxLength: 3 }), (texts, stops) => {
      const whole = texts.join('');
      const { text, stopped } = answer(texts, stops);
      expect(whole.startsWith(text)).toBe(true);
      expect(stops.some((s) => text.includes(s))).toBe(false);
      expect(stopped).toBe(stops.some((s) => whole.includes(s)));
      if (!stopped) expect(text).toBe(whole);
    }),
  );
});

it('gives text as soon as it cannot be part of a stop string', () => {
  const stream = stopStrings(['END']);
  expect(stream.push('xE')).toEqual({ text: 'x', stopped: false });
  expect(stream.push('Nx')).toEqual({ text: 'ENx', stopped: false });
});
