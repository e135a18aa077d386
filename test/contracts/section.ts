import { describe, expect, it } from 'vitest';
import { type Language, languages } from '../../src/i18n/table.ts';
import { type Block, type Document, plainText } from '../../src/report/document.ts';
import { reportInfo } from '../../src/report/gather.ts';
import { html } from '../../src/report/html.ts';
import type { ReportInfo } from '../../src/report/info.ts';
import { markdown } from '../../src/report/markdown.ts';
import type { Section } from '../../src/report/section.ts';
import { exampleRun, type Shape, shapes } from '../report/fixture.ts';

const infos = new Map<Shape, ReportInfo>();
function infoOf(shape: Shape): ReportInfo {
  const info = infos.get(shape) ?? reportInfo(exampleRun(shape));
  infos.set(shape, info);
  return info;
}

/** What every section must do, in every language, with every shape that a run can have. */
export function sectionContract(section: Section): void {
  describe.each(Object.keys(languages) as Language[])(`section ${section.name} in %s`, (lang) => {
    const words = languages[lang];

    it.each(shapes)('renders a run of shape %s', (shape) => {
      const info = infoOf(shape);
      const blocks = section.render(info, words);
      if (section.optional && blocks.length === 0) return;
      const headings = blocks.flatMap((b) => (b.kind === 'heading' ? [b.level] : []));
      expect(headings.filter((level) => level === 2)).toHaveLength(1);
      headings.forEach((level, i) => {
        expect(level).toBeLessThanOrEqual((headings[i - 1] ?? 1) + 1);
      });
      expect(blocks.filter((b) => b.kind !== 'heading').length).toBeGreaterThan(0);

      const texts = everyText(blocks);
      expect(texts.filter((text) => /undefined|NaN|Infinity|\[object|null/.test(text))).toEqual([]);
      expect(texts.filter((text) => text.trim() === '')).toEqual([]);
      for (const table of everyTable(blocks)) {
        for (const row of table.rows) expect(row).toHaveLength(table.columns.length);
      }
      const document: Document = { lang, title: section.name, blocks };
      expect(markdown(document).length).toBeGreaterThan(0);
      expect(html(document, words)).toContain('</html>');
    });

    it('is a pure function of the run', () => {
      const run = exampleRun('many');
      const before = JSON.stringify(run);
      const [first, second] = [0, 1].map(() => section.render(reportInfo(run), words));
      expect(first).toEqual(second);
      expect(JSON.stringify(run)).toBe(before);
    });
  });
}

type Table = Extract<Block, { kind: 'table' }>;

/** Every table, folded ones too. */
export const everyTable = (blocks: readonly Block[]): Table[] =>
  blocks.flatMap((b) => ('blocks' in b ? everyTable(b.blocks) : b.kind === 'table' ? [b] : []));

/** Every text that a reader sees, except verbatim ones. */
export const everyText = (blocks: readonly Block[]): string[] => blocks.flatMap(textsOf);

function textsOf(b: Block): string[] {
  switch (b.kind) {
    case 'heading':
      return [b.text];
    case 'paragraph':
      return [plainText(b.text)];
    case 'list':
      return b.items.map(plainText);
    case 'table':
      return [b.caption, ...b.columns.map((c) => c.title), ...b.rows.flat().map(plainText)];
    case 'figures':
      return b.items.flatMap((item) => [item.label, item.value, ...(item.note ? [item.note] : [])]);
    case 'details':
      return [plainText(b.summary), ...everyText(b.blocks)];
    case 'callout':
      return everyText(b.blocks);
    case 'image':
      return [b.alt, b.caption];
    case 'code':
      return [];
  }
}
