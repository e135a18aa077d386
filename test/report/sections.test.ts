import { expect, it } from 'vitest';
import { en } from '../../src/i18n/en.ts';
import type { Block } from '../../src/report/document.ts';
import { reportInfo } from '../../src/report/gather.ts';
import { reportDocument } from '../../src/report/render.ts';
import { sections } from '../../src/report/table.ts';
import { everyText, sectionContract } from '../contracts/section.ts';
import { exampleRun, shapes } from './fixture.ts';

for (const section of sections) sectionContract(section);

it('has a name for each section', () => {
  expect(new Set(sections.map((s) => s.name)).size).toBe(sections.length);
});

it.each(shapes)('shows every trial of a run of shape %s exactly once', (shape) => {
  const run = exampleRun(shape);
  const { blocks } = reportDocument(reportInfo(run), en);
  const code = (list: readonly Block[]): string[] =>
    list.flatMap((b) => ('blocks' in b ? code(b.blocks) : b.kind === 'code' ? [b.text] : []));
  const shownBlocks = code(blocks).filter((text) => text.includes('Serving Benchmark Result'));
  expect(shownBlocks).toHaveLength(run.trials.filter((t) => t.summary).length);
  const texts = everyText(blocks);
  for (const { id, fate } of run.trials) {
    const head = fate === 'measured' ? `Trial ${id}: ` : `Trial ${id} failed`;
    expect(texts.filter((text) => text.startsWith(head))).toHaveLength(1);
  }
});

it('puts the command, the gain with its interval and the table first', () => {
  const { blocks } = reportDocument(reportInfo(exampleRun('many')), en);
  const kinds = blocks.map((b) => (b.kind === 'heading' ? `h${b.level}` : b.kind));
  expect(kinds.slice(0, 8)).toEqual(['h1', 'paragraph', 'h2', 'paragraph', 'code', 'figures', 'table', 'image']);
  const figures = blocks.find((b) => b.kind === 'figures');
  expect(figures?.kind === 'figures' && figures.items[0]?.note).toMatch(/^95 % interval \+\d+\.\d % to \+\d+\.\d %/);
});

it('says what an unfinished, a failed and a fruitless study cannot say', () => {
  const text = (shape: (typeof shapes)[number]): string =>
    everyText(reportDocument(reportInfo(exampleRun(shape)), en).blocks).join('\n');
  expect(text('unfinished')).toContain(en.conclusion.unfinished);
  expect(text('unfinished')).not.toContain('Recommended command');
  expect(text('one')).not.toContain(en.conclusion.keepBaseline);
  expect(text('all_failed')).toContain(en.conclusion.unmeasured);
  expect(text('keep_baseline')).toContain(en.conclusion.keepBaseline);
  expect(text('none')).toContain(en.stages.nothing);
});
