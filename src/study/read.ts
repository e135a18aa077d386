import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Document, isMap, isNode, LineCounter, parseDocument, type YAMLMap } from 'yaml';
import type { z } from 'zod';
import { closest } from '../kit/closest.ts';
import { InputError, messageOf, type Problem, systemCode } from '../kit/errors.ts';
import { inWords } from '../kit/schema-words.ts';
import { type StudySpec, studySpec } from '../records/study.ts';

/** A study file that passed its schema. */
export interface StudyFile {
  readonly path: string;
  readonly text: string;
  readonly study: StudySpec;
  /** Where a key stands, for people: `study.yaml:12:5 stages[0].name`. */
  place(path: readonly PropertyKey[]): string;
}

/** Reads and checks a study file. Throws one InputError with every problem, each with its line and column. */
export function readStudy(path: string): StudyFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const message = systemCode(error) === 'ENOENT' ? 'there is no such file' : messageOf(error);
    throw new InputError([
      {
        place: path,
        message,
        hint: `studies to start from: ${fileURLToPath(new URL('../../examples', import.meta.url))}`,
      },
    ]);
  }
  return parseStudy(text, path);
}

/** As `readStudy`, from text; `path` is only for messages. */
export function parseStudy(text: string, path: string): StudyFile {
  if (text.includes('\0')) {
    throw new InputError([{ place: path, message: 'is not UTF-8 text', hint: 'save it as UTF-8' }]);
  }
  const lines = new LineCounter();
  const document = parsed(text, path, lines);
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${path}:${line}:${col}`;
  };
  if (document.errors.length > 0) {
    throw new InputError(
      document.errors.map((e) => ({ place: at(e.pos[0]), message: firstLine(e.message), hint: yamlHint(e) })),
    );
  }
  const place = (keys: readonly PropertyKey[]): string => {
    const offset = offsetOf(document, keys);
    const name = keys.map((k) => (typeof k === 'number' ? `[${k}]` : `.${String(k)}`)).join('');
    return [offset === undefined ? path : at(offset), name.replace(/^\./, '')].filter(Boolean).join(' ');
  };
  let content: unknown;
  try {
    content = document.toJS() ?? {};
  } catch (error) {
    throw new InputError([{ place: path, message: messageOf(error), hint: 'write the values out instead of aliases' }]);
  }
  const checked = studySpec.safeParse(content);
  if (!checked.success) throw new InputError(checked.error.issues.flatMap((issue) => problemsOf(issue, place)));
  return { path, text, study: checked.data, place };
}

function parsed(text: string, path: string, lineCounter: LineCounter): Document {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: true });
  } catch (error) {
    // The parser recurses: brackets nested thousands deep exhaust its stack.
    throw new InputError([
      { place: path, message: `cannot be parsed: ${messageOf(error)}`, hint: 'check its brackets' },
    ]);
  }
}

const firstLine = (text: string): string => (text.split('\n')[0] as string).replace(/:$/, '');

/** What usually mends a fault of the YAML itself. */
function yamlHint({ code, message }: { readonly code: string; readonly message: string }): string {
  if (code === 'DUPLICATE_KEY') return 'keep one of the two';
  if (code === 'MULTIPLE_DOCS') return 'one file holds one study: remove the lines from --- on';
  if (/quote/.test(message)) return 'close the quotation mark';
  if (/end with a/.test(message)) return 'close the bracket';
  return 'keys of one level stand in one column, indented by spaces; items of a list begin with “- ”';
}

/** One zod issue as problems for people; an issue with several unknown keys names each in its own place. */
function problemsOf(issue: z.core.$ZodIssue, place: StudyFile['place']): Problem[] {
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => {
        const known = keysAt(issue.path);
        const meant = closest(key, known);
        return {
          place: place([...issue.path, key]),
          message: `unknown key “${key}”`,
          hint: meant ? `did you mean “${meant}”?` : `known keys: ${known.join(', ')}`,
        };
      });
    case 'invalid_union':
      // The branch that came nearest tells most: the one whose complaint lies deepest.
      return [...issue.errors]
        .sort((a, b) => depth(b) - depth(a))
        .slice(0, 1)
        .flatMap((branch) => branch.flatMap((i) => problemsOf({ ...i, path: [...issue.path, ...i.path] }, place)));
    case 'invalid_type':
      if (issue.message.includes('received undefined')) {
        return [{ place: place(issue.path), message: 'is missing', ...describedHint(issue.path) }];
      }
      if (issue.expected === 'string' && /received (number|boolean|date)/.test(issue.message)) {
        const message = `must be text, and YAML reads a ${/received (\w+)/.exec(issue.message)?.[1]} there`;
        return [{ place: place(issue.path), message, hint: `put it in quotes: ${String(issue.path.at(-1))}: "..."` }];
      }
      return [{ place: place(issue.path), message: inWords(issue.message), ...describedHint(issue.path) }];
    default:
      return [{ place: place(issue.path), message: inWords(issue.message), ...describedHint(issue.path) }];
  }
}

const depth = (issues: readonly z.core.$ZodIssue[]): number => Math.max(0, ...issues.map((i) => i.path.length));

/** The JSON schema of the study file, in which keys and descriptions are looked up. */
const schema = studySpec.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as JsonSchema;
interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly description?: string;
}

function schemaAt(path: readonly PropertyKey[]): JsonSchema | undefined {
  let here: JsonSchema | undefined = schema;
  for (const key of path) {
    const options: readonly JsonSchema[] = here?.anyOf ?? (here ? [here] : []);
    here = options
      .map((o) => (typeof key === 'number' ? o.items : o.properties?.[String(key)]))
      .find((o) => o !== undefined);
  }
  return here;
}

function keysAt(path: readonly PropertyKey[]): readonly string[] {
  const here = schemaAt(path);
  return [here, ...(here?.anyOf ?? [])].flatMap((o) => Object.keys(o?.properties ?? {}));
}

function describedHint(path: readonly PropertyKey[]): { hint?: string } {
  const description = schemaAt(path)?.description;
  return description === undefined ? {} : { hint: description };
}

/** Offset of a key in the text, or of the nearest thing above it that exists. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const key = path[length - 1];
    if (isMap(parent)) {
      const pair = (parent as YAMLMap).items.find((item) => isNode(item.key) && String(item.key) === String(key));
      if (pair && isNode(pair.key) && pair.key.range) return pair.key.range[0];
    }
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return isNode(document.contents) ? document.contents.range?.[0] : 0;
}
