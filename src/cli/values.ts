import type { z } from 'zod';
import { alternativesOf, inner, takesObject } from './flags.ts';

/** A value as its schema wants it, or why its text cannot be one. */
export type ReadValue = { readonly value: unknown } | { readonly message: string; readonly hint: string };

/**
 * Text from the command line as the schema wants it: itself where that passes, else the number or the JSON object that it
 * spells. What is no value of the schema stays text, and the schema says what is wrong with it.
 */
export function readValue(schema: z.ZodType, text: string): ReadValue {
  if (schema.safeParse(text).success) return { value: text };
  const kinds = alternativesOf(schema);
  if (isInfinite(text) && kinds.some((kind) => kind.safeParse('inf').success)) return { value: 'inf' };
  const number = kinds.some(({ def }) => def.type === 'number') ? numberIn(text) : undefined;
  if (number !== undefined) return { value: number };
  if (!takesObject(schema)) return { value: text };
  // A union of a number and an object: what does not look like an object was meant as a number.
  if (kinds.length > 1 && !text.trimStart().startsWith('{')) return { value: text };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { message: 'is not JSON', hint: jsonHint(text) };
  }
}

/** The same for each value of a list. */
export const readValues = (schema: z.ZodType, texts: readonly string[]): readonly ReadValue[] => {
  const { element } = inner(schema).def as unknown as { element: z.ZodType };
  return texts.map((text) => readValue(element, text));
};

/** A value behind a dotted key (`--extra-body.top_k 5`): JSON, a number with a suffix (`1k`), else text. */
export function looseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return suffixed(text) ?? text;
  }
}

/** The number that text spells as Python reads it (`1e3`, `.5`, `1_000`); hexadecimal and the like are none. */
export function numberIn(text: string): number | undefined {
  const bare = text.trim();
  if (!/^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+)?$/i.test(bare)) return undefined;
  const number = Number(bare.replaceAll('_', ''));
  return Number.isFinite(number) ? number : undefined;
}

/** `1k` is 1000 and `1K` 1024, up to `t` and `T`; binary ones take no fraction. Undefined for anything else. */
export function suffixed(text: string): number | undefined {
  const [, digits, suffix] = /^(\d+(?:\.\d+)?)([kmgt])$/i.exec(text.trim()) ?? [];
  if (digits === undefined || suffix === undefined) return undefined;
  const power = 'kmgt'.indexOf(suffix.toLowerCase()) + 1;
  if (suffix === suffix.toLowerCase()) return Math.trunc(Number(digits) * 1000 ** power);
  return digits.includes('.') ? undefined : Number(digits) * 1024 ** power;
}

const isInfinite = (text: string): boolean => /^\+?inf(inity)?$/i.test(text.trim());

const jsonHint = (text: string): string =>
  /^\s*\{/.test(text) && /'|\bTrue\b|\bFalse\b|\bNone\b|\(/.test(text)
    ? `this is a Python literal; JSON has double quotes, true, false and null: '{"key": "value"}'`
    : `for example '{"key": "value"}', in single quotes so that the shell leaves it alone`;
