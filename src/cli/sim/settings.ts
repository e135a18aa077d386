import type { z } from 'zod';
import type { Engine, Facts } from '../../engines/engine.ts';
import { closest } from '../../kit/closest.ts';
import { InputError, type Problem } from '../../kit/errors.ts';
import { inWords } from '../../kit/schema-words.ts';
import type { Settings } from '../../records/settings.ts';
import { looseValue } from '../values.ts';

/**
 * Settings as `KEY=VALUE`, checked by the engine's own schema and rules. Throws an InputError with all that is wrong;
 * places are `--setting KEY`.
 */
export function readSettings(engine: Engine, words: readonly string[], facts: Facts): Settings {
  const schemas = engine.settings.shape as Readonly<Record<string, z.ZodType>>;
  const problems: Problem[] = [];
  const given: Record<string, unknown> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    const name = at < 0 ? word : word.slice(0, at);
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    if (schema === undefined) {
      problems.push({
        place: `--setting ${name}`,
        message: `${engine.name} has no such setting`,
        hint: hintFor(name, Object.keys(schemas)),
      });
    } else if (at < 0) {
      problems.push({ place: `--setting ${name}`, message: 'has no value', hint: `--setting ${name}=VALUE` });
    } else {
      const text = word.slice(at + 1);
      given[name] = schema.safeParse(text).success ? text : looseValue(text);
    }
  }
  const parsed = engine.settings.safeParse(given);
  for (const { path, message } of parsed.error?.issues ?? []) {
    const name = String(path[0]);
    const hint = schemas[name]?.description ?? `a setting of ${engine.name}`;
    problems.push({ place: `--setting ${name}`, message: inWords(message), hint });
  }
  if (parsed.success) {
    const settings = Object.fromEntries(Object.entries(parsed.data).filter(([, value]) => value !== undefined));
    const conflicts = engine.conflicts(settings as Settings, facts);
    problems.push(...conflicts.map((problem) => ({ ...problem, place: `--setting ${problem.place}` })));
    if (problems.length === 0) return settings as Settings;
  }
  throw new InputError(problems);
}

function hintFor(name: string, known: readonly string[]): string {
  const meant = closest(name, known);
  return meant === undefined ? `its settings: ${known.join(', ')}` : `did you mean ${meant}?`;
}
