import { type CommandFacts, commandFacts, namespaceFacts } from './command-line.ts';
import type { PrintedBlock } from './printed-block.ts';

/** What stands around a block in its document. */
export interface Surroundings {
  /** Headings, caption and comment above it, outermost first. */
  readonly label: string | null;
  readonly load: CommandFacts | undefined;
  readonly serving: CommandFacts | undefined;
  /** Facts of the option list that vLLM printed before it. */
  readonly options: ReturnType<typeof namespaceFacts>;
}

interface Heading {
  readonly level: number;
  readonly text: string;
}

const heading = /^\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$/;
const comment = /^\s*(?:#+|\/\/)\s+(.+?)\s*$/;
const fence = /^\s*(?:```|~~~)/;
/** A tab of MkDocs; what it holds is indented. */
const tab = /^(\s*)===!?\s+"(.+)"\s*$/;
/** Below every heading. */
const tabLevel = 7;
/** MkDocs' `??? info "Title"`, `<summary>`, and a line that is all bold. */
const titled = /^\s*(?:(?:\?\?\?\+?|!!!)\s+(?:\w+\s+)?"(.+)"|<summary>(.+)<\/summary>|\*\*(.+)\*\*:?)\s*$/;
const longestTitle = 60;
const sentence = /[.。！!?？;；]$|: \S|\|/;

/**
 * What stands above each block. A serving command holds until a heading that is not below its own; a load command holds
 * for the next block only, since a document may name several in one place. In a text without any mark-up a short line
 * of its own is taken for a heading.
 */
export function surroundingsOf(lines: readonly string[], blocks: readonly PrintedBlock[]): readonly Surroundings[] {
  const starts = new Map(blocks.map((block) => [block.line - 1, block]));
  const nextBlock = (i: number): boolean => {
    let at = i + 1;
    while (at < lines.length && (isBlank(lines[at]) || isGutter(lines[at]) || fence.test(lines[at] as string))) at++;
    return starts.has(at);
  };
  const markdown = lines.some((line, i) => fence.test(line) || isHeading(lines, i));
  const found: Surroundings[] = [];
  let headings: Heading[] = [];
  let fenced = false;
  let caption: string | undefined;
  let remark: string | undefined;
  let load: CommandFacts | undefined;
  let options: ReturnType<typeof namespaceFacts>;
  let serving: { readonly facts: CommandFacts; readonly depth: number } | undefined;

  const enter = (level: number, text: string, ancestors: readonly Heading[]): void => {
    headings = [...ancestors, { level, text }];
    caption = undefined;
    remark = undefined;
    load = undefined;
    options = undefined;
    if (serving && serving.depth > ancestors.length) serving = undefined;
  };

  const above = (level: number): readonly Heading[] =>
    headings.slice(0, headings.findLastIndex((h) => h.level < level) + 1);

  for (let i = 0; i < lines.length; i++) {
    const block = starts.get(i);
    if (block) {
      const parts = [...headings.map((h) => h.text), caption, remark].filter((part) => part !== undefined);
      const label = parts.filter((part, at) => part !== parts[at - 1]).join(' > ');
      found.push({ label: label === '' ? null : label, load, serving: serving?.facts, options });
      remark = undefined;
      load = undefined;
      options = undefined;
      i = block.end - 1;
      continue;
    }
    const line = lines[i] as string;
    if (isBlank(line) || isGutter(line)) continue;
    if (fence.test(line)) {
      if (fenced) remark = undefined;
      fenced = !fenced;
      continue;
    }
    const { text, last } = continued(lines, i, (at) => starts.has(at));
    const facts = commandFacts(text);
    if (facts) {
      if (facts.kind === 'load') load = facts;
      else serving = { facts, depth: headings.length };
      i = last;
      continue;
    }
    const [, marks = '', title = ''] = heading.exec(line) ?? [];
    const [, indent = '', tabTitle] = tab.exec(line) ?? [];
    const [, said] = comment.exec(line) ?? [];
    if (markdown && !fenced && title !== '' && !(marks === '#' && nextBlock(i))) {
      enter(marks.length, title, above(marks.length));
    } else if (markdown && !fenced && tabTitle !== undefined) {
      enter(tabLevel + indent.length, tabTitle, above(tabLevel + indent.length));
    } else if (said !== undefined) {
      remark = said;
    } else {
      remark = undefined;
      options = namespaceFacts(line) ?? options;
      const [, info, summary, bold] = titled.exec(line) ?? [];
      const name = info ?? summary ?? bold;
      if (name !== undefined) caption = name.replace(/<[^>]*>/g, '').trim();
      else if (!markdown && isTitle(line)) {
        if (!standsAlone(lines, i)) caption = line.trim();
        // Headings that follow each other directly are levels of one; more cannot be told without mark-up.
        else enter(headings.length + 1, line.trim(), followsHeading(lines, i) ? headings : []);
      }
    }
  }
  return found;
}

const isBlank = (line: string | undefined): boolean => line === undefined || line.trim() === '';
/** The number of a listing's line, copied from a web page. */
const isGutter = (line: string | undefined): boolean => /^\s*\d{1,4}\s*$/.test(line ?? '');
const isTitle = (line: string): boolean => line.trim().length <= longestTitle && !sentence.test(line.trim());
const standsAlone = (lines: readonly string[], i: number): boolean => isBlank(lines[i - 1]) && isBlank(lines[i + 1]);

/** A Markdown heading beyond doubt: a single # begins a comment in a listing as well, and that has lines around it. */
function isHeading(lines: readonly string[], i: number): boolean {
  const [, marks = ''] = heading.exec(lines[i] as string) ?? [];
  return marks.length > 1 || (marks === '#' && standsAlone(lines, i));
}

function followsHeading(lines: readonly string[], i: number): boolean {
  let before = i - 1;
  while (before >= 0 && isBlank(lines[before])) before--;
  const line = lines[before];
  if (line === undefined || /^\s*=+\s*$/.test(line) || commandFacts(line)) return false;
  return isTitle(line) && standsAlone(lines, before);
}

/** Longest command, in lines. */
const mostContinued = 40;

/** A line and those that it goes on in after a `\`, up to a block. */
function continued(
  lines: readonly string[],
  first: number,
  isBlock: (at: number) => boolean,
): { readonly text: string; readonly last: number } {
  let last = first;
  const most = Math.min(lines.length - 1, first + mostContinued);
  while (last < most && /\\\s*$/.test(lines[last] as string) && !isBlock(last + 1)) last++;
  const parts = lines.slice(first, last + 1).map((line) => line.trim().replace(/\s*\\$/, ''));
  return { text: parts.join(' '), last };
}
