import type { Messages } from '../i18n/messages.ts';
import { type Language, languages } from '../i18n/table.ts';
import { hideDeep } from '../kit/secrets.ts';
import type { RunData } from '../records/run.ts';
import type { Block, Document } from './document.ts';
import { reportInfo } from './gather.ts';
import { html } from './html.ts';
import type { ReportInfo } from './info.ts';
import { markdown } from './markdown.ts';
import { currentIdentity, type Identity, textRedactor } from './redact.ts';
import { sections } from './table.ts';

export const reportFormats = ['md', 'html', 'json'] as const;
export type ReportFormat = (typeof reportFormats)[number];

export interface ReportOptions {
  readonly lang: Language;
  readonly formats: readonly ReportFormat[];
  /** Whose home, name and machine are removed; by default those of this process. */
  readonly identity?: Identity;
}

/** A file of a report: its name, without a folder, and its text. */
export interface ReportFile {
  readonly name: string;
  readonly content: string;
}

/**
 * The files of a run's report, for the caller to write: `report.md` with `report-chart.svg` beside it (absent where there
 * is nothing to draw), `report.html`, which needs no other file, and `report.json`, the figures unrounded.
 */
export function renderReport(run: RunData, options: ReportOptions): readonly ReportFile[] {
  const info = hideDeep(reportInfo(run), textRedactor(options.identity ?? currentIdentity()));
  const words = languages[options.lang];
  const document = reportDocument(info, words);
  const files: Record<ReportFormat, () => ReportFile[]> = {
    md: () => [{ name: 'report.md', content: markdown(document) }, ...pictures(document)],
    html: () => [{ name: 'report.html', content: html(document, words) }],
    json: () => [{ name: 'report.json', content: `${JSON.stringify(info, null, 2)}\n` }],
  };
  return reportFormats.filter((format) => options.formats.includes(format)).flatMap((format) => files[format]());
}

/** All sections in order; the numbers of a simulated run marked wherever they stand. */
export function reportDocument(info: ReportInfo, words: Messages): Document {
  const blocks = sections.flatMap((section) => {
    const own = section.render(info, words);
    return info.simulated && section.figures ? markSimulated(own, words) : own;
  });
  const title = blocks.find((b) => b.kind === 'heading');
  return {
    lang: words.locale,
    title: `${title?.kind === 'heading' ? title.text : info.name}${info.simulated ? ` (${words.simulated.mark})` : ''}`,
    blocks,
  };
}

/** Says it at every heading, table, figure and picture, so that no part can be passed on without it. */
function markSimulated(blocks: readonly Block[], words: Messages): Block[] {
  const mark = (text: string): string => `${text} (${words.simulated.mark})`;
  return blocks.map((block): Block => {
    switch (block.kind) {
      case 'heading':
        return block.level <= 3 ? { ...block, mark: words.simulated.mark } : block;
      case 'table':
        return { ...block, caption: mark(block.caption) };
      case 'image':
        return { ...block, alt: mark(block.alt), caption: mark(block.caption) };
      case 'figures':
        return { ...block, items: block.items.map((item) => ({ ...item, label: mark(item.label) })) };
      case 'details':
      case 'callout':
        return { ...block, blocks: markSimulated(block.blocks, words) };
      default:
        return block;
    }
  });
}

const pictures = ({ blocks }: Document): ReportFile[] =>
  blocks.flatMap((block) => (block.kind === 'image' ? [{ name: block.file, content: `${block.svg}\n` }] : []));
