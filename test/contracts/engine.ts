import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { Engine } from '../../src/engines/engine.ts';
import { type SettingValue, settingNames } from '../../src/records/settings.ts';

/** One valid value of each setting that differs from the engine's default; a new setting must be named here by its engine's test. */
export type SampleSettings = Readonly<Record<string, SettingValue>>;

/** What holds for every engine. */
export function engineContract(engine: Engine, samples: SampleSettings): void {
  const command = (settings: SampleSettings, port = 8000): string =>
    JSON.stringify(engine.command({ model: 'some/model', port, settings }));

  describe(`engine ${engine.name}`, () => {
    it('names its settings as everybody does, all of them optional and described', () => {
      const shape = engine.settings.shape as Record<string, z.ZodType>;
      for (const name of Object.keys(shape)) expect(settingNames).toHaveProperty(name);
      expect(engine.settings.safeParse({}).success).toBe(true);
      expect(Object.keys(samples).sort()).toEqual(Object.keys(shape).sort());
    });

    it('refuses settings that it does not have', () => {
      expect(engine.settings.safeParse({ no_such_setting: 1 }).success).toBe(false);
    });

    it('puts every setting into its command, and none where none is set', () => {
      for (const [name, value] of Object.entries(samples)) {
        expect(engine.settings.safeParse({ [name]: value }).error).toBeUndefined();
        expect(command({ [name]: value }), name).not.toBe(command({}));
      }
      expect(command({})).toContain('some/model');
    });

    it('listens where it is told, on loopback', () => {
      expect(command({}, 12345)).toContain('12345');
      expect(command({})).not.toContain('0.0.0.0');
    });

    it('finds nothing wrong with its defaults', () => {
      expect(engine.conflicts({}, { model: 'm', concurrency: 64 })).toEqual([]);
    });

    it('has a remedy for every symptom', () => {
      for (const { pattern, hint } of engine.symptoms) {
        expect(hint).not.toBe('');
        expect(pattern.global).toBe(false);
      }
    });
  });
}
