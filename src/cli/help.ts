import pc from 'picocolors';
import type { z } from 'zod';
import { invocation, invoked } from '../kit/invocation.ts';
import type { Command, CommandEntry, OptionGroup } from './command.ts';
import { alternativesOf, defaultOf, descriptionOf, type Flag, flagsOf, inner, negated, takesObject } from './flags.ts';

/** Columns of help where the terminal does not say how wide it is. */
const usualWidth = 100;

/** Columns that help is wrapped to: those of the terminal, within what can be read. */
const widthOf = (columns: number | undefined): number => Math.min(Math.max(columns ?? usualWidth, 50), 140);

/** `servetune --help`. */
export function overview(
  commands: readonly CommandEntry[],
  version: string,
  width: number = widthOf(process.stdout.columns),
): string {
  const left = Math.max(...commands.map((c) => c.name.length));
  return [
    ...wrap(
      `servetune ${version}: finds the fastest way to serve a large language model on this machine, and proves it`,
      width,
    ),
    '',
    pc.bold('Commands'),
    ...commands.flatMap((c) => beside(c.name, c.summary, left, width)),
    '',
    pc.bold('To begin'),
    ...exampleLines(
      [
        ['servetune tune examples/quickstart.yaml', 'a whole study on this CPU, in a few minutes, without a download'],
        ['servetune tune STUDY.yaml --dry-run', 'every command that a study would start'],
      ],
      width,
    ),
    '',
    ...wrap(`${invoked('COMMAND --help')} explains a command, its options and its defaults.`, width),
  ].join('\n');
}

/** `servetune COMMAND --help`, from the command's schema. No line is longer than `width`. */
export function commandHelp(command: Command, width: number = widthOf(process.stdout.columns)): string {
  const flags = flagsOf(command);
  const { positional } = command;
  const operand = positional ? (positional.optional ? ` [${positional.label}]` : ` ${positional.label}`) : '';
  const grouped = new Set(command.groups?.flatMap((g) => g.keys));
  const rest = flags.filter((f) => !grouped.has(f.key)).map((f) => f.key);
  const groups: readonly OptionGroup[] = [
    ...(command.groups ?? []),
    ...(rest.length > 0 ? [{ title: command.groups ? 'More' : 'Options', keys: rest }] : []),
  ];
  const widest = Math.max(...flags.map((f) => leftOf(f).length).filter((length) => length <= width / 3), 0);
  return [
    ...wrap(`servetune ${command.name}${operand} [options]`, width),
    '',
    ...command.about.split('\n\n').flatMap((paragraph, i) => [...(i > 0 ? [''] : []), ...wrap(paragraph, width)]),
    ...groups.flatMap((group) => [
      '',
      pc.bold(group.title),
      ...(group.about === undefined ? [] : wrap(group.about, width - 2).map((line) => `  ${line}`)),
      ...group.keys.flatMap((key) => {
        const flag = flags.find((f) => f.key === key);
        return flag ? beside(leftOf(flag), rightOf(flag), widest, width) : [];
      }),
    ]),
    '',
    pc.bold('Examples'),
    ...exampleLines(command.examples, width),
  ].join('\n');
}

/** A name with its text beside it; a name that is too long has it below. */
function beside(name: string, text: string, widest: number, width: number): string[] {
  const indent = widest + 4;
  const lines = wrap(text, width - indent).map((line) => `${' '.repeat(indent)}${line}`);
  if (name.length > widest) return [...wrap(name, width - 2).map((line) => `  ${line}`), ...lines];
  return [`  ${name.padEnd(widest)}  ${(lines[0] ?? '').trimStart()}`.trimEnd(), ...lines.slice(1)];
}

/** What each command line does, and the line itself, broken where a shell goes on reading. */
const exampleLines = (examples: Command['examples'], width: number): string[] =>
  examples.flatMap(([example, what]) => [
    ...wrap(what, width - 2).map((text) => `  ${text}`),
    // Words in quotes stay whole, or the line could not be pasted.
    ...fill(
      example.replace(/^(npx )?servetune(?= )/, invocation.join(' ')).match(/(?:'[^']*'|"[^"]*"|\S)+/g) ?? [],
      width - 8,
    ).map((text, i, all) => `${i === 0 ? '    ' : '      '}${text}${i < all.length - 1 ? ' \\' : ''}`),
  ]);

/** Text in lines of at most `width` characters; a word that is longer is cut. */
const wrap = (text: string, width: number): string[] =>
  fill(
    text.split(/\s+/).flatMap((word) => word.match(new RegExp(`.{1,${width}}`, 'gu')) ?? []),
    width,
  );

/** Words in lines of at most `width` characters, as long as no word is longer. */
function fill(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}

function leftOf(flag: Flag): string {
  if (flag.kind !== 'switch') return `${flag.name} ${valueName(flag)}${flag.kind === 'list' ? ' ...' : ''}`;
  if (!flag.negatable) return flag.name;
  return `${flag.name}, ${negated(flag.name)}`;
}

/** Longest list of choices that stands beside a flag; a longer one goes into its text. */
const longestChoice = 24;

function valueName(flag: Flag): string {
  const choices = choicesOf(flag.schema);
  if (choices && choices.join('|').length <= longestChoice) return choices.join('|');
  if (choices) return 'NAME';
  const kinds = alternativesOf(flag.schema);
  if (kinds.some(({ def }) => def.type === 'number')) return flag.name.endsWith('-s') ? 'SECONDS' : 'N';
  if (takesObject(flag.schema)) return 'JSON';
  const text = descriptionOf(flag.schema) ?? '';
  if (/^(file|folder)\b/i.test(text)) return /^file/i.test(text) ? 'FILE' : 'DIR';
  return text.includes('KEY=VALUE') ? 'KEY=VALUE' : text.includes('NAME:MS') ? 'NAME:MS' : 'TEXT';
}

const choicesOf = (schema: z.ZodType): readonly string[] | undefined => {
  const { entries } = inner(schema).def as { entries?: Record<string, string> };
  return entries && Object.values(entries);
};

function rightOf(flag: Flag): string {
  const value = defaultOf(flag.schema);
  const choices = choicesOf(flag.schema);
  const listed = choices && choices.join('|').length > longestChoice ? `; one of ${choices.join(', ')}` : '';
  const text = `${descriptionOf(flag.schema) ?? ''}${listed}`;
  if (flag.kind === 'switch') return value === true ? `${text} (default)` : text;
  const shown = Array.isArray(value) && value.length === 0 ? undefined : value;
  return shown === undefined || shown === ''
    ? text
    : `${text} (default ${typeof shown === 'object' ? JSON.stringify(shown) : shown})`;
}
