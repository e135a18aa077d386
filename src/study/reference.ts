import type { z } from 'zod';
import { engines } from '../engines/table.ts';
import { settingNames } from '../records/settings.ts';
import { studySpec } from '../records/study.ts';
import { workload } from '../records/workload.ts';

/** The part of a JSON schema that the reference reads. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

const schemaOf = (type: z.ZodType): Schema => type.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as Schema;

/** The reference of the study file as Markdown, from the schemas that check it: `docs/study-file.md`. */
export function studyReference(): string {
  const { properties = {}, required = [] } = schemaOf(studySpec);
  const nested = ['objective', 'constraints', 'repeats', 'budget', 'limits'];
  return [
    '# The study file',
    '',
    'Generated from the schemas that check it (`npm run docs`). A key that is not named here is refused.',
    '',
    '## Top level',
    '',
    ...table(properties, required),
    ...nested.flatMap((key) => {
      const schema = properties[key];
      const inner = schema?.items ?? schema;
      return ['', `## ${key}`, '', ...table(inner?.properties ?? {}, inner?.required ?? [])];
    }),
    '',
    '## workloads',
    '',
    'Each entry. The same keys, with `-` for `_`, are the flags of `servetune bench serve`.',
    '',
    ...table(schemaOf(workload).properties ?? {}, ['name']),
    '',
    '## Settings',
    '',
    'Keys of `baseline` and of the alternatives of a stage, beside `engine`. A setting that is left out keeps the engine’s',
    'own default. An alternative that names an engine starts from that engine’s defaults; any other changes what the',
    'stages before it have chosen.',
    '',
    `| setting | meaning | ${engines.map((e) => e.name).join(' | ')} |`,
    `| --- | --- | ${engines.map(() => '---').join(' | ')} |`,
    ...Object.entries(settingNames).map(
      ([name, meaning]) =>
        `| \`${name}\` | ${meaning} | ${engines.map((e) => values(schemaOf(e.settings).properties?.[name])).join(' | ')} |`,
    ),
    '',
  ].join('\n');
}

const table = (properties: Readonly<Record<string, Schema>>, required: readonly string[]): string[] => [
  '| key | value | default | meaning |',
  '| --- | --- | --- | --- |',
  ...Object.entries(properties).map(
    ([name, schema]) =>
      `| \`${name}\` | ${values(schema)} | ${fallback(schema, required.includes(name))} | ${schema.description ?? ''} |`,
  ),
];

function values(schema: Schema | undefined): string {
  if (!schema) return '–';
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.enum) return schema.enum.map((v) => `\`${v}\``).join(', ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map(values))].join(' or ');
  if (schema.type === 'array') return `list of ${values(schema.items)}`;
  if (schema.type === 'object') return 'map';
  if (schema.type === 'boolean') return '`true`, `false`';
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  const bounds = [
    ...(minimum !== undefined && minimum > -1e15 ? [`at least ${minimum}`] : []),
    ...(exclusiveMinimum === undefined ? [] : [`above ${exclusiveMinimum}`]),
    ...(maximum !== undefined && maximum < 1e15 ? [`at most ${maximum}`] : []),
    ...(exclusiveMaximum === undefined ? [] : [`below ${exclusiveMaximum}`]),
  ];
  return [schema.type === 'string' ? 'text' : schema.type, ...bounds].filter(Boolean).join(', ');
}

function fallback(schema: Schema, required: boolean): string {
  if (schema.default !== undefined && typeof schema.default !== 'object') return `\`${schema.default}\``;
  return required && schema.default === undefined ? 'required' : '–';
}
