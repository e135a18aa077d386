import { type Block, type Document, type Inline, pieces, plainText, type Table, type Text } from './document.ts';
import { escapeMarkup } from './escape.ts';

/** GitHub-flavoured Markdown. Pictures are linked as files beside it. Ends with a newline. */
export function markdown({ blocks }: Document): string {
  return `${printBlocks(blocks)}\n`;
}

const printBlocks = (blocks: readonly Block[]): string => blocks.map(printBlock).join('\n\n');

function printBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${escapeText(block.mark ? `${block.text} (${block.mark})` : block.text)}`;
    case 'paragraph':
      return printText(block.text);
    case 'list':
      return block.items.map((item, i) => `${block.ordered ? `${i + 1}.` : '-'} ${printText(item)}`).join('\n');
    case 'figures':
      return block.items
        .map(
          ({ label, value, note }) =>
            `- ${escapeText(label)}: **${escapeText(value)}**${note ? ` (${escapeText(note)})` : ''}`,
        )
        .join('\n');
    case 'table':
      return printTable(block);
    case 'code':
      return fenced(block.text, block.language === 'text' ? 'text' : block.language);
    case 'details':
      // The blank lines make the inside Markdown again.
      return `<details>\n<summary>${summaryText(block.summary)}</summary>\n\n${printBlocks(block.blocks)}\n\n</details>`;
    case 'callout':
      return quoted(`[!${block.tone === 'warning' ? 'WARNING' : 'NOTE'}]\n${printBlocks(block.blocks)}`);
    case 'image':
      return `![${escapeText(block.alt)}](${block.file})\n\n*${escapeText(block.caption)}*`;
  }
}

function printTable({ caption, columns, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    `*${escapeText(caption)}*`,
    '',
    line(columns.map((c) => escapeText(c.title))),
    line(columns.map((c) => (c.numeric ? '---:' : '---'))),
    ...rows.map((row) => line(row.map(printCell))),
  ].join('\n');
}

/** A bar ends a cell even inside a code span, where only tables take its escape away again. */
const printCell = (text: Text): string =>
  pieces(text)
    .map((piece) => {
      const printed = printInline(piece);
      return typeof piece !== 'string' && piece.kind === 'code' ? printed.replaceAll('|', '\\|') : printed;
    })
    .join('');

/** Inside a fence nothing is markup, as long as the fence is longer than any run of backticks in the text. */
function fenced(text: string, language: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text}\n${fence}`;
}

const quoted = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n');

const printText = (text: Text): string => atLineStart(pieces(text).map(printInline).join(''));

function printInline(piece: Inline): string {
  if (typeof piece === 'string') return escapeText(piece);
  switch (piece.kind) {
    case 'strong':
      return wrapped('**', piece.text);
    case 'code':
      return codeSpan(piece.text);
    case 'muted':
    case 'tone':
      return escapeText(piece.text);
  }
}

/** Emphasis marks do not work beside a space, so spaces at the ends stay outside. */
function wrapped(mark: string, text: string): string {
  const [, before = '', inner = '', after = ''] = /^(\s*)(.*?)(\s*)$/s.exec(text) ?? [];
  return inner === '' ? text : `${before}${mark}${escapeText(inner)}${mark}${after}`;
}

function codeSpan(text: string): string {
  const line = oneLine(text);
  const ticks = '`'.repeat(longestRun(line) + 1);
  const padding = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${padding}${line}${padding}${ticks}`;
}

const longestRun = (text: string): number =>
  (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);

/**
 * Text in which Markdown, GitHub's mathematics and HTML find nothing. An underscore between letters means nothing to
 * them, and settings are full of those.
 */
function escapeText(text: string): string {
  return oneLine(text)
    .replace(/[\\`*[\]<>|~$#]/g, '\\$&')
    .replace(/&(?=#?\w+;)/g, '&amp;')
    .replace(/(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, '\\_');
}

/** A line that starts like a list or an underline would become one. */
const atLineStart = (text: string): string =>
  text.replace(/^(\d+)([.)])(?=\s|$)/, '$1\\$2').replace(/^[-+=](?=\s|$|=)/, '\\$&');

/** A summary is HTML, where some readers look for Markdown all the same. */
const summaryText = (text: Text): string =>
  pieces(text)
    .map((piece) => {
      const inside = escapeMarkup(oneLine(plainText([piece])))
        .replaceAll('[', '&#91;')
        .replaceAll(']', '&#93;')
        .replaceAll('`', '&#96;');
      return typeof piece !== 'string' && piece.kind === 'strong' ? `<b>${inside}</b>` : inside;
    })
    .join('');

/** Without its line breaks, and the space around them. */
const oneLine = (text: string): string =>
  text
    .split('\n')
    .map((line, i, all) => (all.length === 1 ? line : i === 0 ? line.trimEnd() : line.trim()))
    .join(' ');
