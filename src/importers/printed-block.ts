/** A line `Label:   value` of a printed result. */
export interface PrintedRow {
  /** From 1. */
  readonly line: number;
  /** Without its colon. */
  readonly label: string;
  readonly value: string;
  /** Title of the section that it stands in: `Time to First Token`; null above the first. */
  readonly section: string | null;
}

/** A block that begins with `==== Serving Benchmark Result ====`, which several tools print. */
export interface PrintedBlock {
  /** Line and column of its heading, from 1. */
  readonly line: number;
  readonly column: number;
  /** Its last line. */
  readonly end: number;
  readonly simulated: boolean;
  readonly rows: readonly PrintedRow[];
  /** Whether its closing line was there; otherwise the block may have been cut. */
  readonly closed: boolean;
}

const title = /={3,} *(SIMULATED +)?Serving Benchmark Result *={3,}/;
const closing = /^={20,}$/;
const sectionTitle = /^[-=]{2,} *([^-=\s].*?) *[-=]{2,}$/;
const row = /^([A-Za-z][^:]*?)\s*:(?:\s+(\S.*))?$/;
/** vLLM's longest block with every section that it knows has about 60 lines. */
const mostLines = 160;

/** Longer lines are none of a result's, and would cost the patterns below much time. */
const longestLine = 16_384;

/** A text's lines, whatever ends them, without colours; of a progress bar's line what it showed last. */
export const linesOf = (text: string): readonly string[] =>
  text.split(text.includes('\n') ? /\r*\n/ : '\r').map((line) =>
    line
      .slice(line.lastIndexOf('\r') + 1)
      .slice(0, longestLine)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals' escape sequences begin with one
      .replace(/\u001b\[[\d;]*[A-Za-z]/g, ''),
  );

/** Whether the text holds a block. */
export const hasBlock = (text: string): boolean =>
  text.includes('Serving Benchmark Result') && linesOf(text).some((line) => title.test(line));

/** Every block of a text, in its order. Lines may all begin with the same prefix: `> `, a log's time, blanks. */
export function findBlocks(lines: readonly string[]): readonly PrintedBlock[] {
  const blocks: PrintedBlock[] = [];
  for (let i = 0; i < lines.length; i++) {
    const found = title.exec(lines[i] as string);
    if (!found) continue;
    const block = readBlock(lines, i, found);
    blocks.push(block);
    i = block.end - 1;
  }
  return blocks;
}

function readBlock(lines: readonly string[], first: number, heading: RegExpExecArray): PrintedBlock {
  const prefix = heading.input.slice(0, heading.index);
  const bare = (line: string): string => withoutPrefix(line, prefix).trim();
  const closedAt = closingLine(lines, first, bare);
  const rows: PrintedRow[] = [];
  let section: string | null = null;
  let end = first;
  for (let i = first + 1; i < (closedAt ?? Math.min(lines.length, first + mostLines)); i++) {
    const line = bare(lines[i] as string);
    if (beginsAnother(lines[i] as string)) break;
    const [, name] = sectionTitle.exec(line) ?? [];
    const [, label, value = ''] = row.exec(line) ?? [];
    if (name !== undefined) section = name;
    else if (label !== undefined) rows.push({ line: i + 1, label, value, section });
    // Inside a block other output may have come between; below one that has no end, anything else is its end.
    else if (line !== '' && closedAt === undefined) break;
    if (line !== '') end = i;
  }
  return {
    line: first + 1,
    column: heading.index + 1,
    end: (closedAt ?? end) + 1,
    simulated: heading[1] !== undefined,
    rows,
    closed: closedAt !== undefined,
  };
}

function closingLine(lines: readonly string[], first: number, bare: (line: string) => string): number | undefined {
  for (let i = first + 1; i < Math.min(lines.length, first + mostLines); i++) {
    const line = lines[i] as string;
    if (beginsAnother(line)) return undefined;
    if (closing.test(bare(line))) return i;
  }
  return undefined;
}

/** Another block, or the end of the listing that this one stands in. */
const beginsAnother = (line: string): boolean => title.test(line) || /^\s*(?:```|~~~)/.test(line);

/** The line without what stands before the block's heading too: blanks, `> `, a log's time and name. */
function withoutPrefix(line: string, prefix: string): string {
  const alike = prefix.trim() !== '' && line[prefix.length - 1] === prefix.at(-1);
  return alike ? line.slice(prefix.length) : line.replace(/^[\s>]+/, '');
}
