import type { z } from 'zod';
import type { Command } from './command.ts';

/** How an option is written on the command line. */
export interface Flag {
  /** Key in the schema, with `_`, as YAML has it. */
  readonly key: string;
  /** `--num-prompts`. */
  readonly name: string;
  readonly kind: 'switch' | 'value' | 'list';
  /** A switch that `--no-...` turns off: one that is on by default, or whose default depends on other options. */
  readonly negatable: boolean;
  /** A list of which every mention counts. */
  readonly repeatable: boolean;
  readonly schema: z.ZodType;
}

/** The flags of a command, from its schema. */
export const flagsOf = (command: Pick<Command, 'options' | 'positional' | 'repeatable'>): readonly Flag[] =>
  Object.entries(command.options.shape as Record<string, z.ZodType>)
    .filter(([key]) => key !== command.positional?.key)
    .map(([key, schema]) => {
      const kind = kindOf(schema);
      const negatable = kind === 'switch' && defaultOf(schema) !== false;
      const repeatable = command.repeatable?.includes(key) ?? false;
      return { key, name: flagName(key), kind, negatable, repeatable, schema };
    });

/** `num_prompts` as `--num-prompts`. */
export const flagName = (key: string): string => `--${key.replaceAll('_', '-')}`;

/** `--ignore-eos` as `--no-ignore-eos`. */
export const negated = (name: string): string => name.replace(/^--/, '--no-');

/** What lies under `optional`, `default` and their like. */
export function inner(schema: z.ZodType): z.ZodType {
  const { innerType } = schema.def as { innerType?: z.ZodType };
  return innerType ? inner(innerType) : schema;
}

/** The value of an option that is not given; undefined where it has none. */
export function defaultOf(schema: z.ZodType): unknown {
  const found = schema.safeParse(undefined);
  return found.success ? found.data : undefined;
}

/** What an option means, as its schema says it. */
export const descriptionOf = (schema: z.ZodType): string | undefined => schema.description ?? inner(schema).description;

/** The kinds of value that a schema takes, the alternatives of a union one by one. */
export function alternativesOf(schema: z.ZodType): readonly z.ZodType[] {
  const bare = inner(schema);
  const { type, options } = bare.def as { type: string; options?: readonly z.ZodType[] };
  return type === 'union' && options ? options.flatMap(alternativesOf) : [bare];
}

/** Whether a value is written as a JSON object. */
export const takesObject = (schema: z.ZodType): boolean =>
  alternativesOf(schema).some(({ def }) => def.type === 'object' || def.type === 'record');

/** Whether a flag stands alone, takes one value or several. */
export function kindOf(schema: z.ZodType): Flag['kind'] {
  const { type } = inner(schema).def;
  return type === 'boolean' ? 'switch' : type === 'array' ? 'list' : 'value';
}
