import { expect, it } from 'vitest';
import { z } from 'zod';
import { inWords } from '../../src/kit/schema-words.ts';

const complaint = (schema: z.ZodType, value: unknown): string => {
  const found = schema.safeParse(value);
  if (found.success) throw new Error('nothing was wrong');
  return inWords(found.error.issues[0]?.message ?? '');
};

it.each([
  [z.int().min(1), 0, 'must be at least 1'],
  [z.number().max(2), 3, 'must be at most 2'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.number().lt(1), 1, 'must be less than 1'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(3), '', 'must have at least 3 characters'],
  [z.array(z.string()).min(1), [], 'must not be empty'],
  [z.number(), 'much', 'must be a number, not text'],
  [z.boolean(), 1, 'must be true or false, not a number'],
  [z.array(z.string()), {}, 'must be a list, not a map'],
  [z.enum(['a', 'b']), 'c', 'expected one of "a"|"b"'],
])('a schema’s complaint in plain words: %#', (schema, value, expected) => {
  expect(complaint(schema, value)).toBe(expected);
});
