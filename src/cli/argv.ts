import type { z } from 'zod';
import { closest } from '../kit/closest.ts';
import { InputError, type Problem } from '../kit/errors.ts';
import type { Command } from './command.ts';

/** How an option is written on the command line. */
export interface Flag {
  /** Key in the schema, with `_`, as YAML has it. */
  readonly key: string;
  /** `--num-prompts`. */
  readonly name: string;
  readonly kind: 'switch' | 'value' | 'list';
  readonly schema: z.ZodType;
}

/** The flags of a command, from its schema. */
export const flagsOf = (command: Command): readonly Flag[] =>
  Object.entries(command.options.shape as Record<string, z.ZodType>)
    .filter(([key]) => key !== command.positional?.key)
    .map(([key, schema]) => ({ key, name: `--${key.replaceAll('_', '-')}`, kind: kindOf(schema), schema }));

/** What lies under `optional`, `default` and their like. */
export function inner(schema: z.ZodType): z.ZodType {
  const { innerType } = schema.def as { innerType?: z.ZodType };
  return innerType ? inner(innerType) : schema;
}

function kindOf(schema: z.ZodType): Flag['kind'] {
  const { type } = inner(schema).def;
  return type === 'boolean' ? 'switch' : type === 'array' ? 'list' : 'value';
}

/**
 * Reads a command line with the habits of Python's argparse, which `vllm bench serve` has taught its users: `_` for `-`,
 * unambiguous prefixes, `--flag=value`, several values after one flag, `--no-` before a switch. Throws one InputError
 * with everything that is wrong.
 */
export function parseArgv(command: Command, argv: readonly string[]): Record<string, unknown> {
  const flags = flagsOf(command);
  const problems: Problem[] = [];
  const raw: Record<string, unknown> = {};
  const loose: string[] = [];

  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] as string;
    if (!word.startsWith('--')) {
      if (word.startsWith('-') && word.length > 1 && Number.isNaN(Number(word)))
        problems.push(unknownFlag(word, flags));
      else loose.push(word);
      continue;
    }
    const cut = word.indexOf('=');
    const written = (cut < 0 ? word : word.slice(0, cut)).replaceAll('_', '-');
    const inline = cut < 0 ? undefined : word.slice(cut + 1);
    const found = findFlag(written, flags);
    if ('problem' in found) {
      problems.push(found.problem);
      // Its values are not positional arguments.
      while (inline === undefined && i + 1 < argv.length && isValue(argv[i + 1] as string)) i++;
      continue;
    }
    const { flag, negated } = found;
    if (flag.kind === 'switch') {
      if (inline !== undefined) {
        problems.push({
          place: flag.name,
          message: 'takes no value',
          hint: `use ${flag.name} or ${negate(flag.name)}`,
        });
      } else raw[flag.key] = !negated;
      continue;
    }
    const values = inline === undefined ? [] : [inline];
    const most = flag.kind === 'list' ? Number.POSITIVE_INFINITY : 1;
    while (values.length < most && inline === undefined && i + 1 < argv.length && isValue(argv[i + 1] as string)) {
      values.push(argv[++i] as string);
    }
    if (values.length === 0) problems.push({ place: flag.name, message: 'needs a value', ...described(flag.schema) });
    else raw[flag.key] = flag.kind === 'list' ? [...((raw[flag.key] as string[]) ?? []), ...values] : values[0];
  }

  const { positional } = command;
  if (positional && loose.length > 0) raw[positional.key] = loose.shift();
  for (const word of loose) {
    problems.push({ place: word, message: 'is not expected here', hint: `see servetune ${command.name} --help` });
  }
  if (positional && !positional.optional && raw[positional.key] === undefined) {
    problems.push({ place: positional.label, message: 'is missing', hint: `see servetune ${command.name} --help` });
  }
  for (const flag of flags) {
    if (typeof raw[flag.key] === 'string') raw[flag.key] = coerce(flag.schema, raw[flag.key] as string);
    else if (Array.isArray(raw[flag.key])) raw[flag.key] = coerceList(flag.schema, raw[flag.key] as string[]);
  }
  const parsed = command.options.safeParse(raw);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const flag = flags.find((f) => f.key === issue.path[0]);
      if (positional && positional.key === issue.path[0] && raw[positional.key] === undefined) continue; // said above
      const missing = issue.path[0] !== undefined && raw[String(issue.path[0])] === undefined;
      problems.push({
        place: flag?.name ?? String(issue.path[0]),
        message: missing ? 'is missing' : issue.message.replace(/^Invalid (input|option): /, ''),
        ...(flag ? described(flag.schema) : {}),
      });
    }
  }
  if (problems.length > 0) throw new InputError(problems);
  return parsed.data as Record<string, unknown>;
}

/** Negative numbers are values, not flags. */
const isValue = (word: string): boolean => !word.startsWith('-') || word === '-' || !Number.isNaN(Number(word));

const negate = (name: string): string => name.replace(/^--/, '--no-');

function findFlag(
  written: string,
  flags: readonly Flag[],
): { readonly flag: Flag; readonly negated: boolean } | { readonly problem: Problem } {
  const spellings = flags.flatMap((flag) => [
    { name: flag.name, flag, negated: false },
    ...(flag.kind === 'switch' ? [{ name: negate(flag.name), flag, negated: true }] : []),
  ]);
  const exact = spellings.find((s) => s.name === written);
  if (exact) return exact;
  const begun = spellings.filter((s) => s.name.startsWith(written));
  if (begun.length === 1) return begun[0] as { flag: Flag; negated: boolean };
  if (begun.length > 1) {
    const hint = `it could be ${begun.map((s) => s.name).join(', ')}`;
    return { problem: { place: written, message: 'is ambiguous', hint } };
  }
  return { problem: unknownFlag(written, flags) };
}

function unknownFlag(written: string, flags: readonly Flag[]): Problem {
  const meant = closest(
    written,
    flags.map((f) => f.name),
  );
  return {
    place: written,
    message: 'unknown option',
    hint: meant ? `did you mean ${meant}?` : 'see --help for those that exist',
  };
}

/** Text as the schema wants it: itself where that passes, else the number that it spells. */
function coerce(schema: z.ZodType, text: string): unknown {
  if (schema.safeParse(text).success) return text;
  return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
}

function coerceList(schema: z.ZodType, values: readonly string[]): unknown[] {
  const { element } = inner(schema).def as unknown as { element: z.ZodType };
  return values.map((v) => coerce(element, v));
}

const described = (schema: z.ZodType): { hint?: string } => {
  const text = schema.description ?? inner(schema).description;
  return text === undefined ? {} : { hint: text };
};
