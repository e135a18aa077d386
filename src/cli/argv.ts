import type { z } from 'zod';
import { closest } from '../kit/closest.ts';
import { InputError, type Problem } from '../kit/errors.ts';
import { invoked } from '../kit/invocation.ts';
import { inWords } from '../kit/schema-words.ts';
import type { Command } from './command.ts';
import { descriptionOf, type Flag, flagsOf, inner, kindOf, negated, takesObject } from './flags.ts';
import { looseValue, readValue, readValues, suffixed } from './values.ts';

/**
 * Reads a command line with the habits of Python's argparse, which `vllm bench serve` has taught its users: `_` for `-`,
 * unambiguous prefixes, `--flag=value`, several values after one flag, negative numbers as values, and the last one of
 * repeated flags, also of those that take several values. From vLLM's own parser it has the JSON objects that are
 * written key by key (`--extra-body.top_k 5`, `--extra-body.stop+ a,b`).
 *
 * Throws one InputError with everything that is wrong. `tell` hears what was read but may surprise.
 */
export function parseArgv(
  command: Command,
  argv: readonly string[],
  tell: (note: string) => void = () => {},
): Record<string, unknown> {
  const flags = flagsOf(command);
  const words = readWords(flags, argv);
  const problems = [...words.problems];
  const raw: Record<string, unknown> = {};
  const unreadable = new Set<string>(words.unreadable);

  for (const [flag, texts] of words.given) {
    const read = flag.kind === 'list' ? readValues(flag.schema, texts) : [readValue(flag.schema, texts[0] as string)];
    for (const one of read) {
      if ('value' in one) continue;
      problems.push({ place: flag.name, message: one.message, hint: one.hint });
      unreadable.add(flag.key);
    }
    const values = read.map((one) => ('value' in one ? one.value : undefined));
    if (!unreadable.has(flag.key)) raw[flag.key] = flag.kind === 'list' ? values : values[0];
  }
  for (const [flag, on] of words.switches) raw[flag.key] = on;
  for (const [flag, object] of words.objects) {
    if (words.given.has(flag)) {
      const hint = 'give the object either as JSON or key by key';
      problems.push({ place: flag.name, message: 'is given in both ways', hint });
    }
    raw[flag.key] = object;
  }

  const { positional } = command;
  const see = `see ${invoked(`${command.name} --help`)}`;
  const loose = [...words.loose];
  if (positional && loose.length > 0) {
    const several = kindOf(command.options.shape[positional.key] as z.ZodType) === 'list';
    raw[positional.key] = several ? loose.splice(0) : loose.shift();
  }
  for (const word of loose) problems.push({ place: word, message: 'is not expected here', hint: see });
  if (positional && !positional.optional && raw[positional.key] === undefined) {
    problems.push({ place: positional.label, message: 'is missing', hint: see });
  }

  const parsed = command.options.safeParse(raw);
  const said = new Set(unreadable);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const key = String(issue.path[0]);
      if (said.has(key)) continue;
      unreadable.add(key);
      if (positional?.key === key && raw[key] === undefined) continue; // said above
      problems.push(
        problemOf(
          issue,
          flags.find((flag) => flag.key === key),
          raw[key],
        ),
      );
    }
  }
  problems.push(...togetherProblems(command, parsed, raw, unreadable));
  if (!parsed.success || problems.length > 0) throw new InputError(problems);
  for (const [flag, times] of words.times) {
    if (times > 1 && !flag.repeatable) tell(`${flag.name} is given ${times} times; only the last one counts`);
  }
  return parsed.data as Record<string, unknown>;
}

/** What is wrong with the options together, judged with the unreadable ones at their defaults. */
function togetherProblems(
  command: Command,
  parsed: z.ZodSafeParseResult<Record<string, unknown>>,
  raw: Record<string, unknown>,
  unreadable: ReadonlySet<string>,
): readonly Problem[] {
  if (!command.check) return [];
  if (parsed.success) return command.check(parsed.data, unreadable);
  const readable = Object.fromEntries(Object.entries(raw).filter(([key]) => !unreadable.has(key)));
  const again = command.options.safeParse(readable);
  return again.success ? command.check(again.data, unreadable) : [];
}

/** A command line taken apart, nothing converted. */
interface Words {
  readonly given: Map<Flag, readonly string[]>;
  readonly switches: Map<Flag, boolean>;
  /** Objects written key by key. */
  readonly objects: Map<Flag, Record<string, unknown>>;
  readonly times: Map<Flag, number>;
  readonly loose: string[];
  readonly problems: Problem[];
  readonly unreadable: Set<string>;
}

function readWords(flags: readonly Flag[], argv: readonly string[]): Words {
  const words: Words = {
    given: new Map(),
    switches: new Map(),
    objects: new Map(),
    times: new Map(),
    loose: [],
    problems: [],
    unreadable: new Set(),
  };
  const isValue = (word: string | undefined): word is string => word !== undefined && !isOption(word, flags);

  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] as string;
    if (word === '--') {
      words.loose.push(...argv.slice(i + 1));
      break;
    }
    if (isValue(word)) {
      words.loose.push(word);
      continue;
    }
    const { written, path, inline } = takeApart(word);
    const found = findFlag(written, flags);
    if ('problem' in found) {
      words.problems.push(found.problem);
      // Its values are not positional arguments.
      while (inline === undefined && isValue(argv[i + 1])) i++;
      continue;
    }
    const { flag, off } = found;
    if (path !== undefined) {
      const text = inline ?? argv[++i];
      addKey(words, flag, path, text);
      continue;
    }
    words.times.set(flag, (words.times.get(flag) ?? 0) + 1);
    if (flag.kind === 'switch') {
      if (inline === undefined) words.switches.set(flag, !off);
      else {
        const hint = `use ${flag.name}${flag.negatable ? ` or ${negated(flag.name)}` : ' alone, or leave it out'}`;
        words.problems.push({ place: flag.name, message: 'takes no value', hint });
      }
      continue;
    }
    const values = inline === undefined ? [] : [inline];
    const most = flag.kind === 'list' ? Number.POSITIVE_INFINITY : 1;
    while (inline === undefined && values.length < most && isValue(argv[i + 1])) values.push(argv[++i] as string);
    if (values.length > 0 || (flag.kind === 'list' && flag.schema.safeParse([]).success)) {
      words.given.set(flag, flag.repeatable ? [...(words.given.get(flag) ?? []), ...values] : values);
    } else {
      words.unreadable.add(flag.key);
      const dashed = argv[i + 1]?.startsWith('-') && !argv[i + 1]?.startsWith('--');
      const hint = dashed
        ? `a value that begins with a dash is written ${flag.name}=${argv[i + 1]}`
        : descriptionOf(flag.schema);
      words.problems.push({ place: flag.name, message: 'needs a value', ...(hint === undefined ? {} : { hint }) });
    }
  }
  return words;
}

/** A word that argparse takes for an option: a dash in front, but no number, and no sentence unless it names a flag. */
function isOption(word: string, flags: readonly Flag[]): boolean {
  if (!word.startsWith('-') || word === '-') return false;
  if (/^-(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word) || /^-inf(inity)?$/i.test(word)) return false;
  return !word.includes(' ') || !('problem' in findFlag(takeApart(word).written, flags));
}

/** `--extra_body.a.b=1` as flag, path below it, and value. */
function takeApart(word: string): {
  readonly written: string;
  readonly path: string | undefined;
  readonly inline: string | undefined;
} {
  const cut = word.indexOf('=');
  const name = cut < 0 ? word : word.slice(0, cut);
  const dot = name.indexOf('.');
  return {
    written: (dot < 0 ? name : name.slice(0, dot)).replaceAll('_', '-'),
    path: dot < 0 ? undefined : name.slice(dot + 1),
    inline: cut < 0 ? undefined : word.slice(cut + 1),
  };
}

/** One key of an object (`a.b`, or `a+` for elements of a list), merged into what was given of it before. */
function addKey(words: Words, flag: Flag, path: string, text: string | undefined): void {
  const list = path.endsWith('+');
  const keys = (list ? path.slice(0, -1) : path).split('.');
  const place = `${flag.name}.${path}`;
  if (!takesObject(flag.schema)) {
    words.problems.push({ place, message: `${flag.name} takes no keys`, hint: `write ${flag.name} and its value` });
    return;
  }
  if (text === undefined || keys.includes('') || keys.includes('__proto__')) {
    words.problems.push({ place, message: text === undefined ? 'needs a value' : 'is no key' });
    return;
  }
  const object = words.objects.get(flag) ?? {};
  words.objects.set(flag, object);
  let at = object;
  for (const key of keys.slice(0, -1)) {
    const below = at[key];
    const next = typeof below === 'object' && below !== null && !Array.isArray(below) ? below : {};
    at[key] = next;
    at = next as Record<string, unknown>;
  }
  const last = keys.at(-1) as string;
  const before = at[last];
  at[last] = list ? [...(Array.isArray(before) ? before : []), ...text.split(',')] : looseValue(text);
}

type Found = { readonly flag: Flag; readonly off: boolean } | { readonly problem: Problem };

function findFlag(written: string, flags: readonly Flag[]): Found {
  const spellings = flags.flatMap((flag) => [
    { name: flag.name, flag, off: false },
    ...(flag.negatable ? [{ name: negated(flag.name), flag, off: true }] : []),
  ]);
  const exact = spellings.find((s) => s.name === written);
  if (exact) return exact;
  const begun = written.startsWith('--') && written !== '--' ? spellings.filter((s) => s.name.startsWith(written)) : [];
  if (begun[0] && begun.length === 1) return begun[0];
  if (begun.length > 1) {
    const hint = `it could be ${begun.map((s) => s.name).join(', ')}`;
    return { problem: { place: written, message: 'is ambiguous', hint } };
  }
  const alwaysOff = flags.find((flag) => flag.kind === 'switch' && negated(flag.name) === written);
  const names = flags.map((flag) => flag.name);
  const meant = closest(written, names);
  const hint = alwaysOff
    ? `${alwaysOff.name} is off unless it is given`
    : meant
      ? `did you mean ${meant}?`
      : 'see --help for those that exist';
  return { problem: { place: written, message: 'unknown option', hint } };
}

/** What the schema has against a value, for people. */
function problemOf(issue: z.core.$ZodIssue, flag: Flag | undefined, value: unknown): Problem {
  const place = flag?.name ?? String(issue.path[0]);
  if (value === undefined) return { place, message: 'is missing', ...hintOf(flag) };
  const within = issue.path.slice(1).map((part) => (typeof part === 'number' ? `value ${part + 1}` : String(part)));
  const count = typeof value === 'string' ? suffixed(value) : undefined;
  const said =
    issue.code === 'invalid_union'
      ? `does not take “${typeof value === 'string' ? value : JSON.stringify(value)}”`
      : inWords(issue.message);
  return {
    place: [place, ...within].join(' '),
    message: said,
    ...(count === undefined ? hintOf(flag) : { hint: `write the number out: ${count}` }),
  };
}

const hintOf = (flag: Flag | undefined): { hint?: string } => {
  const text = flag && (descriptionOf(flag.schema) ?? descriptionOf(inner(flag.schema)));
  return text === undefined ? {} : { hint: text };
};
