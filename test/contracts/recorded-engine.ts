import { describe, expect, it } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import type { Settings } from '../../src/records/settings.ts';
import type { Fate } from '../../src/records/trial.ts';
import { classify } from '../../src/study/failure.ts';
import { partClock } from '../../src/study/start-watch.ts';
import { recordedLog, recordedLogs, recordedText } from '../engines/recorded.ts';

/** How a failure is told: its fate, words of its cause, and what would have worked where the engine says so. */
export type Told = readonly [fate: Fate, cause: string, suggestion?: Settings];

/** What was recorded of one release of an engine, and what must be read out of it. */
export interface Recorded {
  /** Folder under `test/fixtures/engines`. */
  readonly release: string;
  /** Every recorded `fail-NAME.log`, by its name. */
  readonly failures: Readonly<Record<string, Told>>;
  /** A line with which it ends under load. */
  readonly lastWords: string;
  /** What `start-14b.log` tells of the settings in force. */
  readonly settingsInForce: Readonly<Record<string, unknown>>;
  /** Of that start: the line at which it was ready, after how many seconds, and the parts of these. */
  readonly start: {
    readonly readyLine: string;
    readonly readyS: number;
    readonly parts: Readonly<Record<string, number>>;
    readonly longerThanS: Readonly<Record<string, number>>;
  };
  /** Counters that its metrics do not have yet after this load. */
  readonly absentCounters: readonly string[];
}

/** How a log of the engine that ended before it was ready is told. */
export const failureIn = (engine: Engine, lines: readonly string[]): ReturnType<typeof classify> =>
  classify(engine, { fate: 'start_failed', message: 'ended' }, lines);

/** What holds for every engine of which a release was recorded. */
export function recordedContract(engine: Engine, recorded: Recorded): void {
  const { release, failures, start } = recorded;
  const log = (name: string): readonly string[] => recordedLog(`${release}/logs/${name}`);

  describe(`${engine.name}, recorded as ${release}`, () => {
    it('has a name for every failure', () => {
      expect(recordedLogs(release, 'fail-')).toEqual(Object.keys(failures).map((name) => `fail-${name}.log`));
    });

    it.each(Object.entries(failures))('fails with its fate, its cause and its correction: %s', (name, told) => {
      const [fate, cause, suggestion] = told;
      const found = failureIn(engine, log(`fail-${name}.log`));
      expect(found.fate).toBe(fate);
      expect(found.failure.message).toContain(cause);
      expect(found.failure.suggestion).toEqual(suggestion);
      expect(found.portTaken ?? false).toBe(name === 'port-in-use');
    });

    it('crashes under load where its last words under load are those of a failed start, too', () => {
      const found = classify(engine, { fate: 'crashed_under_load', message: 'died' }, [recorded.lastWords]);
      expect(found.fate).toBe('crashed_under_load');
      expect(found.failure.message).toContain(recorded.lastWords);
    });

    it.each(recordedLogs(release, 'start-'))('has nothing wrong in a good start: %s', (name) => {
      const found = classify(engine, { fate: 'hung', message: 'quiet' }, log(name));
      expect([found.fate, found.failure.hint]).toEqual(['hung', undefined]);
    });

    it('tells the settings in force in its log', () => {
      expect(engine.settingsInLog?.(log('start-14b.log'))).toEqual(recorded.settingsInForce);
    });

    it('shows how long each part of its start took', () => {
      const clock = partClock(engine.startParts ?? [], 0);
      let atS = 0;
      for (const line of recordedText(`${release}/logs/start-14b.log`).split('\n')) {
        const [, seconds, text = line] = /^ *(\d+\.\d{3}) (.*)/.exec(line) ?? [];
        atS = seconds === undefined ? atS : Number(seconds);
        clock.line(text, atS);
        if (text.includes(start.readyLine)) break;
      }
      const parts: Readonly<Record<string, number>> = clock.times(start.readyS);
      expect(parts).toMatchObject(start.parts);
      for (const [part, s] of Object.entries(start.longerThanS)) expect(parts[part], part).toBeGreaterThan(s);
      expect(Object.values(parts).reduce((sum, s) => sum + s, 0)).toBeCloseTo(start.readyS, 2);
    });

    it('has its counters among its metrics', () => {
      const served = new Set(recordedText(`${release}/metrics-after-load.txt`).match(/^\w+:\w+/gm));
      const named = Object.entries(engine.counters?.names ?? {});
      const absent = named.filter(([, names]) => !names.some((name) => served.has(name))).map(([name]) => name);
      expect(absent).toEqual(recorded.absentCounters);
    });
  });
}
