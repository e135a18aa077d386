import { describe, expect, it } from 'vitest';
import { explain, harmless } from '../../src/cli/terminal.ts';
import { InputError } from '../../src/kit/errors.ts';

describe('what is shown on a terminal', () => {
  it('keeps lines and colours, and nothing else that a terminal obeys', () => {
    expect(harmless('a\n\tb \u001b[31mred\u001b[0m')).toBe('a\n\tb \u001b[31mred\u001b[0m');
    for (const evil of [
      '\u001b]0;title\u0007',
      '\u001b[2J',
      '\u001b[1A',
      '\r',
      '\u0000',
      '\u009b31m',
      '\u202e',
      '\u2066',
    ]) {
      const shown = harmless(`x${evil}y`);
      expect(shown).not.toMatch(/\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
      expect(shown).toContain('\ufffd');
    }
  });

  it('names many problems, but not thousands', () => {
    const problems = Array.from({ length: 1000 }, (_, i) => ({ place: `line ${i}`, message: 'is wrong' }));
    const lines = explain(new InputError(problems));
    expect(lines.length).toBeLessThan(40);
    expect(lines.at(-1)).toContain('970 more');
  });
});
