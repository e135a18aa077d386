import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { benchProgress, progressLine, remainingS } from '../../../src/cli/bench/progress.ts';
import type { LoadProgress } from '../../../src/load/progress.ts';

const at = (more: Partial<LoadProgress> = {}): LoadProgress => ({
  sent: 500,
  ok: 400,
  failed: 0,
  running: 100,
  outputTokens: 40_000,
  elapsedS: 20,
  tokensPerS: 5230.6,
  total: 1000,
  ...more,
});

/** A terminal that keeps what it is told. */
function paper(interactive: boolean) {
  const notes: string[] = [];
  const statuses: string[] = [];
  return {
    interactive,
    notes,
    statuses,
    note: (text: string) => void notes.push(text),
    status: (text: string) => void statuses.push(text),
  };
}

describe('the line of progress', () => {
  it('has requests, tokens a second and the time left', () => {
    expect(progressLine('measuring', at())).toBe(
      'measuring: 400/1,000 done, 100 running, 5,231 output tok/s, about 30 sec left',
    );
    expect(progressLine('measuring', at({ failed: 2, total: null }), 60)).toBe(
      'measuring: 400 done, 2 failed, 100 running, 5,231 output tok/s, about 40 sec left',
    );
    expect(progressLine('measuring', at({ total: null }))).not.toContain('left');
    expect(progressLine('preparing prompts', { made: 1200, of: 5000 })).toBe('preparing prompts: 1,200/5,000');
    expect(progressLine('warming up', undefined)).toBe('warming up');
  });

  it('guesses no time before anything is done', () => {
    expect(remainingS(at({ ok: 0 }), 0)).toBeNull();
    expect(remainingS(at({ ok: 2 }), 0)).toBeNull();
    expect(remainingS(at({ ok: 0, total: null }), 30)).toBe(10);
  });

  it('never says a time that is negative or no number', () => {
    const count = fc.nat(10_000);
    fc.assert(
      fc.property(count, count, count, fc.double({ min: 0, max: 1e5, noNaN: true }), (ok, failed, total, elapsedS) => {
        const leftS = remainingS(at({ ok, failed, total, elapsedS }), 0);
        expect(leftS === null || (leftS >= 0 && Number.isFinite(leftS))).toBe(true);
      }),
    );
  });
});

describe('progress', () => {
  it('changes one line on a terminal', () => {
    const terminal = paper(true);
    const progress = benchProgress(terminal, { quiet: false });
    progress.show('warming up');
    progress.show('measuring', at());
    progress.end();
    expect(terminal.statuses).toEqual(['warming up', progressLine('measuring', at()), '']);
    expect(terminal.notes).toEqual([]);
  });

  it('writes a line every ten seconds elsewhere, and never two within a second', () => {
    const terminal = paper(false);
    let nowS = 100;
    const written: number[] = [];
    const progress = benchProgress(
      { ...terminal, note: () => void written.push(nowS) },
      { quiet: false, clock: () => nowS },
    );
    const load = (phase: string, seconds: number): void => {
      for (const endS = nowS + seconds; nowS < endS - 1e-9; nowS += 0.25) progress.show(phase, at());
    };
    load('preparing prompts', 0.5);
    load('warming up', 3);
    load('measuring', 31);
    progress.end();
    expect(written).toEqual([100, 101, 103.5, 113.5, 123.5, 133.5]);
    expect(terminal.statuses).toEqual([]);
  });

  it.each([true, false])('is silent when told so (terminal: %s)', (interactive) => {
    const terminal = paper(interactive);
    const progress = benchProgress(terminal, { quiet: true });
    progress.show('measuring', at());
    progress.end();
    expect([...terminal.notes, ...terminal.statuses]).toEqual([]);
  });
});
