import { createHash } from 'node:crypto';
import type { Messages } from '../i18n/messages.ts';
import { type Block, type Document, type Heading, type Inline, pieces, type Table, type Text } from './document.ts';
import { escapeMarkup } from './escape.ts';
import { pageScript, pageStyle } from './page.ts';

/**
 * One HTML file that needs no other: styles, the copy script and pictures are inside, and its content security policy
 * forbids the rest, so neither a request nor foreign markup can come of what stands in a log.
 */
export function html(document: Document, words: Messages): string {
  const headings = identified(document.blocks);
  const script = pageScript(words.copied);
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="${escapeMarkup(document.lang)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeMarkup(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="servetune">
<title>${escapeMarkup(document.title)}</title>
<style>${pageStyle}</style>
</head>
<body>
<div class="page">
${contents(headings, words)}
<main>
${printSections(document.blocks, headings, words)}
</main>
</div>
<script>${script}</script>
</body>
</html>
`;
}

/** An id for each heading, from its text, unique in the document. */
function identified(blocks: readonly Block[]): ReadonlyMap<Heading, string> {
  const ids = new Map<Heading, string>();
  const taken = new Set<string>();
  for (const block of blocks) {
    if (block.kind !== 'heading') continue;
    const slug = block.text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '');
    let id = `s-${slug}`;
    for (let n = 2; taken.has(id); n++) id = `s-${slug}-${n}`;
    taken.add(id);
    ids.set(block, id);
  }
  return ids;
}

function contents(headings: ReadonlyMap<Heading, string>, words: Messages): string {
  const links = [...headings]
    .filter(([{ level }]) => level === 2 || level === 3)
    .map(
      ([{ level, text }, id]) => `<li class="l${level}"><a href="#${escapeMarkup(id)}">${escapeMarkup(text)}</a></li>`,
    );
  const label = escapeMarkup(words.contents);
  return `<nav aria-label="${label}"><p>${label}</p><ol>\n${links.join('\n')}\n</ol></nav>`;
}

/** A heading of level 2 opens a section of its own; what stands before the first one is the page's header. */
function printSections(blocks: readonly Block[], headings: ReadonlyMap<Heading, string>, words: Messages): string {
  const groups: { id?: string; blocks: Block[] }[] = [{ blocks: [] }];
  for (const block of blocks) {
    const id = block.kind === 'heading' && block.level === 2 ? headings.get(block) : undefined;
    if (id !== undefined) groups.push({ id, blocks: [] });
    groups.at(-1)?.blocks.push(block);
  }
  return groups
    .filter((group) => group.blocks.length > 0)
    .map((group) => {
      const inside = group.blocks.map((block) => printBlock(block, headings, words)).join('\n');
      return group.id === undefined
        ? `<header>\n${inside}\n</header>`
        : `<section aria-labelledby="${escapeMarkup(group.id)}">\n${inside}\n</section>`;
    })
    .join('\n');
}

function printBlock(block: Block, headings: ReadonlyMap<Heading, string>, words: Messages): string {
  const inner = (blocks: readonly Block[]): string => blocks.map((b) => printBlock(b, headings, words)).join('\n');
  switch (block.kind) {
    case 'heading':
      return printHeading(block, headings.get(block) ?? '');
    case 'paragraph':
      return `<p>${printText(block.text)}</p>`;
    case 'list': {
      const tag = block.ordered ? 'ol' : 'ul';
      return `<${tag}>\n${block.items.map((item) => `<li>${printText(item)}</li>`).join('\n')}\n</${tag}>`;
    }
    case 'figures':
      return `<dl class="figures">\n${block.items.map(printFigure).join('\n')}\n</dl>`;
    case 'table':
      return printTable(block);
    case 'code':
      return printCode(block.text, block.language, block.prominent === true, words);
    case 'details':
      return `<details>\n<summary>${printText(block.summary)}</summary>\n${inner(block.blocks)}\n</details>`;
    case 'callout':
      return `<div class="callout ${block.tone}" role="note">\n${inner(block.blocks)}\n</div>`;
    case 'image':
      return `<figure>\n${block.svg}\n<figcaption>${printText(block.caption)}</figcaption>\n</figure>`;
  }
}

function printHeading({ level, text, mark }: Heading, id: string): string {
  const badge = mark ? ` <span class="mark">${escapeMarkup(mark)}</span>` : '';
  return `<h${level} id="${escapeMarkup(id)}">${printText(text)}${badge}</h${level}>`;
}

const printFigure = ({ label, value, note, tone }: (Block & { kind: 'figures' })['items'][number]): string =>
  `<div${tone ? ` class="lead ${tone}"` : ''}><dt>${printText(label)}</dt><dd class="value">${printText(value)}</dd>${
    note ? `<dd class="note">${printText(note)}</dd>` : ''
  }</div>`;

function printTable({ caption, columns, rows }: Table): string {
  const css = (i: number): string => (columns[i]?.numeric ? ' class="num"' : '');
  const head = columns.map(({ title }, i) => `<th scope="col"${css(i)}>${escapeMarkup(title)}</th>`).join('');
  const body = rows.map((row) => {
    const cells = row.map((cell, i) =>
      i === 0 ? `<th scope="row"${css(i)}>${printText(cell)}</th>` : `<td${css(i)}>${printText(cell)}</td>`,
    );
    return `<tr>${cells.join('')}</tr>`;
  });
  const label = escapeMarkup(caption);
  const pairs = columns.length === 2 && !columns.some((c) => c.numeric) ? ' class="pairs"' : '';
  // A wide table scrolls by itself, so it must be reachable by keyboard.
  return `<div class="scroll" tabindex="0">
<table${pairs}>
<caption><span>${label}</span></caption>
<thead><tr>${head}</tr></thead>
<tbody>
${body.join('\n')}
</tbody>
</table>
</div>`;
}

function printCode(text: string, language: string, prominent: boolean, words: Messages): string {
  const button =
    language === 'text' ? '' : `<button type="button" class="copy" hidden>${escapeMarkup(words.copy)}</button>`;
  return `<div class="code ${language}${prominent ? ' prominent' : ''}">${button}<pre tabindex="0"><code>${escapeMarkup(text)}</code></pre></div>`;
}

const printText = (text: Text): string => pieces(text).map(printInline).join('');

function printInline(piece: Inline): string {
  if (typeof piece === 'string') return unbroken(escapeMarkup(piece));
  const inside = escapeMarkup(piece.text);
  switch (piece.kind) {
    case 'strong':
      return `<strong>${unbroken(inside)}</strong>`;
    case 'code':
      return `<code>${inside}</code>`;
    case 'muted':
      return `<span class="muted">${unbroken(inside)}</span>`;
    case 'tone':
      return `<span class="${piece.tone}">${unbroken(inside)}</span>`;
  }
}

/** A number stays on one line with its sign and unit. */
const unbroken = (escaped: string): string =>
  escaped.replace(
    /[+-]?\d[\d.,]* (?:%|tok\/s|req\/s|ms|sec|min|hr|[KMGT]iB)(?![A-Za-z])/g,
    '<span class="n">$&</span>',
  );
