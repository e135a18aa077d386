import pc from 'picocolors';
import type { z } from 'zod';
import { type Flag, flagsOf, inner } from './argv.ts';
import type { Command, CommandEntry } from './command.ts';

/** `servetune --help`. */
export function overview(commands: readonly CommandEntry[], version: string): string {
  const width = Math.max(...commands.map((c) => c.name.length));
  return [
    `servetune ${version}: finds the fastest way to serve a large language model on this machine, and proves it`,
    '',
    pc.bold('Commands'),
    ...commands.map((c) => `  ${c.name.padEnd(width)}  ${c.summary}`),
    '',
    pc.bold('To begin'),
    '  servetune tune examples/quickstart.yaml     a whole study on this CPU, in a few minutes, without a download',
    '  servetune tune STUDY.yaml --dry-run         every command that a study would start',
    '',
    'servetune COMMAND --help explains a command, its options and its defaults.',
  ].join('\n');
}

/** `servetune COMMAND --help`, from the command's schema. */
export function commandHelp(command: Command): string {
  const flags = flagsOf(command);
  const { positional } = command;
  const operand = positional ? (positional.optional ? ` [${positional.label}]` : ` ${positional.label}`) : '';
  const groups = command.groups ?? [{ title: 'Options', keys: flags.map((f) => f.key) }];
  const grouped = new Set(groups.flatMap((g) => g.keys));
  const rest = flags.filter((f) => !grouped.has(f.key)).map((f) => f.key);
  const width = Math.max(...flags.map((f) => left(f).length));
  return [
    `servetune ${command.name}${operand} [options]`,
    '',
    command.about,
    ...[...groups, ...(rest.length > 0 ? [{ title: 'More', keys: rest }] : [])].flatMap((group) => [
      '',
      pc.bold(group.title),
      ...group.keys.flatMap((key) => {
        const flag = flags.find((f) => f.key === key);
        return flag ? [`  ${left(flag).padEnd(width)}  ${right(flag)}`] : [];
      }),
    ]),
    '',
    pc.bold('Examples'),
    ...command.examples.flatMap(([line, what]) => [`  ${what}`, `    ${line}`]),
  ].join('\n');
}

const left = (flag: Flag): string => {
  if (flag.kind === 'switch') return defaultOf(flag.schema) === true ? flag.name.replace('--', '--no-') : flag.name;
  return `${flag.name} ${valueName(flag)}${flag.kind === 'list' ? ' ...' : ''}`;
};

function valueName(flag: Flag): string {
  const schema = inner(flag.schema);
  const { entries, type } = schema.def as { entries?: Record<string, string>; type: string };
  if (entries) return Object.values(entries).join('|');
  return type === 'number' || type === 'union' ? 'N' : flag.name.endsWith('-s') ? 'SECONDS' : 'TEXT';
}

function right(flag: Flag): string {
  const text = flag.schema.description ?? inner(flag.schema).description ?? '';
  const value = defaultOf(flag.schema);
  const opposite = flag.kind === 'switch' && value === true ? 'Do not: ' : '';
  return value === undefined || flag.kind !== 'value'
    ? `${opposite}${text}`
    : `${text} ${pc.dim(`(default ${value})`)}`;
}

function defaultOf(schema: z.ZodType): unknown {
  const found = schema.safeParse(undefined);
  return found.success ? found.data : undefined;
}
