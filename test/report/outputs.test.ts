import { expect, it } from 'vitest';
import { en } from '../../src/i18n/en.ts';
import type { Block, Document } from '../../src/report/document.ts';
import { commandText } from '../../src/report/figures.ts';
import { reportInfo } from '../../src/report/gather.ts';
import { html } from '../../src/report/html.ts';
import { markdown } from '../../src/report/markdown.ts';
import { renderReport, reportDocument } from '../../src/report/render.ts';
import { exampleRun, shapes } from './fixture.ts';

const files = (shape: (typeof shapes)[number], simulated = false): Record<string, string> =>
  Object.fromEntries(
    renderReport(exampleRun(shape, { simulated }), { lang: 'en', formats: ['md', 'html', 'json'] }).map((f) => [
      f.name,
      f.content,
    ]),
  );
const page = (blocks: readonly Block[]): Document => ({ lang: 'en', title: 't', blocks });
/** Tags of a page, in order, without what stands in its own style and script. */
const tagsOf = (text: string): string[] =>
  [...text.replace(/<(style|script)>[\s\S]*?<\/\1>/g, '').matchAll(/<(\/?[a-z][a-z0-9]*)\b[^>]*?(\/?)>/gi)].map(
    ([, name = '', end]) => `${name}${end}`,
  );

const hostile = [
  '<script>alert(1)</script>',
  '</pre></details><img src=x onerror=alert(1)>',
  '" onmouseover="alert(1)',
  '``` ```` `',
  '[x](javascript:alert(1)) ![x](http://example.org/x.png)',
  '| a | b |\n# heading',
  '&lt; &amp; &#60;script&#62;',
  ']]> <!-- --!>',
];

it.each(shapes)('closes every element of the page of shape %s', (shape) => {
  const open: string[] = [];
  const empty = new Set(['meta', 'br', 'img']);
  for (const tag of tagsOf(files(shape)['report.html'] ?? '')) {
    if (tag.endsWith('/') || empty.has(tag)) continue;
    if (tag.startsWith('/')) expect(open.pop()).toBe(tag.slice(1));
    else open.push(tag);
  }
  expect(open).toEqual([]);
});

it('asks the network for nothing', () => {
  const text = files('many')['report.html'] ?? '';
  const targets = [...text.matchAll(/\b(?:src|href|action|srcset|data|poster)\s*=\s*"([^"]*)"/g)].map(
    ([, to = '']) => to,
  );
  expect(targets.length).toBeGreaterThan(10);
  expect(targets.filter((to) => !to.startsWith('#'))).toEqual([]);
  expect(text).not.toMatch(/@import|url\(|<link|<iframe|<img/);
  expect(text).toContain('default-src &#39;none&#39;');
});

it('leads every link of the contents to a heading, in an order without gaps', () => {
  const text = files('many')['report.html'] ?? '';
  const ids = [...text.matchAll(/<h[1-4] id="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
  const levels = [...text.matchAll(/<h([1-4]) /g)].map(([, level]) => Number(level));
  expect(levels[0]).toBe(1);
  levels.forEach((level, i) => {
    expect(level).toBeLessThanOrEqual((levels[i - 1] ?? 0) + 1);
  });
  expect(text.match(/<th scope="col"/g)?.length).toBeGreaterThan(20);
  expect(text).toMatch(/<svg[^>]*role="img"[^>]*aria-labelledby="st-chart-title st-chart-desc"/);
});

it.each(hostile)('prints %j as text, whatever kind of block it stands in', (text) => {
  const blocks: Block[] = [
    { kind: 'heading', level: 1, text },
    { kind: 'heading', level: 2, text },
    {
      kind: 'paragraph',
      text: [text, { kind: 'strong', text }, { kind: 'code', text }, { kind: 'tone', tone: 'bad', text }],
    },
    { kind: 'list', items: [text] },
    {
      kind: 'table',
      caption: text,
      columns: [{ title: text }, { title: text }],
      rows: [[text, [{ kind: 'code', text }]]],
    },
    { kind: 'code', language: 'text', text },
    { kind: 'figures', items: [{ label: text, value: text, note: text }] },
    { kind: 'details', summary: [text, { kind: 'strong', text }], blocks: [{ kind: 'code', language: 'sh', text }] },
    { kind: 'callout', tone: 'warning', blocks: [{ kind: 'paragraph', text }] },
  ];
  const harmless = JSON.parse(JSON.stringify(blocks).replaceAll(JSON.stringify(text).slice(1, -1), 'x')) as Block[];
  expect(tagsOf(html({ ...page(blocks), title: text }, en))).toEqual(tagsOf(html(page(harmless), en)));

  // In Markdown: no tag but our own outside fences, no live link, and as many rows and headings as without it.
  const outside = (source: string): string => source.replace(/^(?:> )?(`{3,})[a-z]*\n[\s\S]*?\n(?:> )?\1$/gm, '');
  const shape = (source: string) => ({
    tags: [...outside(source).matchAll(/(?<!\\)<\/?[a-z]+/g)].map(([tag]) => tag).sort(),
    links: outside(source).match(/(?<!\\)\]\(/g) ?? [],
    headings: outside(source).match(/^#+ /gm)?.length,
    cells: outside(source)
      .match(/^\|.*$/gm)
      ?.map((row) => row.match(/(?<!\\)\|/g)?.length),
  });
  // Inside a code span nothing is markup; spans are judged by their ticks below.
  const spanless = (list: readonly Block[]): Block[] =>
    JSON.parse(JSON.stringify(list).replaceAll('"kind":"code","text"', '"kind":"muted","text"')) as Block[];
  expect(shape(markdown(page(spanless(blocks))))).toEqual(shape(markdown(page(spanless(harmless)))));
  const span = markdown(page([{ kind: 'paragraph', text: [{ kind: 'code', text }] }])).trimEnd();
  const fence = /^`+/.exec(span)?.[0] ?? '';
  expect(span.endsWith(fence)).toBe(true);
  expect(span.slice(fence.length, -fence.length)).not.toMatch(new RegExp(`(?<!\`)${fence}(?!\`)`));
});

it('keeps the log of a failed trial verbatim inside its fence, and escaped in the page', () => {
  const all = files('many');
  expect(all['report.html']).toContain('&lt;script&gt;alert(&quot;log&quot;)&lt;/script&gt; ```not a fence```');
  expect(all['report.html']).not.toContain('<script>alert');
  expect(all['report.md']).toMatch(/^> ````text\n(?:> .*\n)*> <script>alert\("log"\)<\/script> ```not a fence```/m);
});

it('says in every format that simulated numbers are simulated, wherever they stand', () => {
  const all = files('many', true);
  const md = all['report.md'] ?? '';
  expect(md.split('\n').slice(0, 8).join('\n')).toContain(en.simulated.banner);
  for (const caption of md.match(/^\*(?:Baseline and|Configurations|What each|Workload|Worst)[^\n]*\*$/gm) ?? [
    'none',
  ]) {
    expect(caption).toContain('(simulated)');
  }
  expect(md.match(/SIMULATED Serving Benchmark Result/g)?.length).toBe(md.match(/Serving Benchmark Result/g)?.length);
  for (const line of md.match(/<summary>Trial \d+: .*$/gm) ?? ['none']) expect(line).toContain('simulated');
  for (const line of md.match(/^- (?:Change of|Optimized|Baseline).*$/gm) ?? ['none'])
    expect(line).toContain('(simulated)');
  for (const line of md.match(/^##? (?:Opt|Concl|Results|Further|Measure).*$/gm) ?? ['none'])
    expect(line).toContain('(simulated)');
  expect(all['report.html']).toContain(en.simulated.banner);
  expect(all['report.html']).toMatch(/<title>[^<]*\(simulated\)<\/title>/);
  expect(all['report-chart.svg']).toContain('(simulated)');
  const json = JSON.parse(all['report.json'] ?? '') as { simulated: boolean; trials: { simulated: boolean }[] };
  expect(json.simulated).toBe(true);
  expect(json.trials.every((t) => t.simulated)).toBe(true);
  for (const content of Object.values(files('many'))) expect(content).not.toContain('(simulated)');
});

it('returns only the formats asked for, and a picture only where there is one', () => {
  const names = (shape: (typeof shapes)[number], formats: ('md' | 'html' | 'json')[]): string[] =>
    renderReport(exampleRun(shape), { lang: 'en', formats }).map((f) => f.name);
  expect(names('many', ['json'])).toEqual(['report.json']);
  expect(names('many', ['html', 'md'])).toEqual(['report.md', 'report-chart.svg', 'report.html']);
  expect(names('none', ['md'])).toEqual(['report.md']);
  expect(files('none')['report.md']).not.toContain('report-chart.svg');
});

it('gives the unrounded figures as JSON', () => {
  const run = exampleRun('many');
  const json = JSON.parse(files('many')['report.json'] ?? '') as ReturnType<typeof reportInfo>;
  expect(json.format).toBe('servetune-report-1');
  for (const trial of run.trials) {
    const shown = json.trials.find((t) => t.id === trial.id);
    expect(shown?.totalTokenThroughput ?? null).toBe(trial.summary?.totalTokenThroughput ?? null);
  }
});

it('writes home folders so that a shell still finds them', () => {
  expect(commandText(['serve', '~/a b/model.gguf'])).toBe("serve ~'/a b/model.gguf'");
  expect(commandText(['serve', '~/m.gguf', '--dir=~/x', '~'])).toBe('serve ~/m.gguf --dir="$HOME"/x ~');
  expect(commandText(['serve', '--name', 'a~b'])).toBe("serve --name 'a~b'");
});

it('numbers headings that are alike', () => {
  const text = html(page(['a b', 'a-b', 'A b'].map((t): Block => ({ kind: 'heading', level: 2, text: t }))), en);
  expect([...text.matchAll(/<h2 id="([^"]+)"/g)].map(([, id]) => id)).toEqual(['s-a-b', 's-a-b-2', 's-a-b-3']);
});

it('uses the same title in the page and on it', () => {
  const document = reportDocument(reportInfo(exampleRun('many')), en);
  expect(document.title).toBe('Optimizing the throughput of Qwen/Qwen3-14B on NVIDIA H100 80GB HBM3');
});
