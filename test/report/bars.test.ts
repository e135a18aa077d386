import { expect, it } from 'vitest';
import { type BarChart, barChart } from '../../src/report/charts/bars.ts';

const chart = (values: (number | null)[][], more: Partial<BarChart> = {}): string =>
  barChart({
    title: 'Throughput',
    description: 'd',
    unit: 'tok/s',
    locale: 'en',
    missing: 'not measured',
    groups: values.map((bars, i) => ({
      label: `w${i}`,
      bars: bars.map((value, k) => ({ series: k === 0 ? 'Baseline' : 'Optimized', value })),
    })),
    ...more,
  });
const bars = (svg: string) =>
  [...svg.matchAll(/<rect class="st-(?:first|best)"[^>]*? y="([\d.]+)" width="([\d.]+)%"/g)].map(([, y, width]) => ({
    y: Number(y),
    width: Number(width),
  }));
const textLines = (svg: string): number[] => [...svg.matchAll(/<text[^>]*? y="([\d.]+)"/g)].map(([, y]) => Number(y));

it('draws lengths in proportion to the values, inside the width', () => {
  const widths = bars(
    chart([
      [100, 200],
      [50, 400],
    ]),
  ).map((b) => b.width);
  expect(widths).toHaveLength(4);
  expect((widths[1] ?? 0) / (widths[0] ?? 1)).toBeCloseTo(2, 2);
  expect((widths[3] ?? 0) / (widths[2] ?? 1)).toBeCloseTo(8, 2);
  for (const width of widths) expect(width).toBeLessThanOrEqual(96);
});

it('gives every text a line of its own, however long it is', () => {
  const svg = chart([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  const lines = textLines(svg).slice(0, -3);
  const unique = [...new Set(lines)].sort((a, b) => a - b);
  unique.slice(1).forEach((y, i) => {
    expect(y - (unique[i] ?? 0)).toBeGreaterThanOrEqual(14);
  });
  for (const { y } of bars(svg)) expect(unique.some((line) => line > y && line < y + 15)).toBe(false);
});

it('escapes and shortens labels', () => {
  const label = `<b>&"'${'x'.repeat(200)}`;
  const svg = chart([], { groups: [{ label, bars: [{ series: label, value: 1 }] }], title: label });
  expect(svg).not.toContain('<b>');
  expect(svg).toContain('…');
});

it('says what was not measured and draws no bar for it', () => {
  const svg = chart([[null, 5]]);
  expect(bars(svg)).toHaveLength(1);
  expect(svg).toContain('not measured');
  expect(chart([[null, null]])).not.toMatch(/NaN|Infinity/);
});

it('keeps whiskers inside the drawing', () => {
  const svg = chart([], { groups: [{ label: 'w', bars: [{ series: 's', value: 10, low: -3, high: 40 }] }] });
  const places = [...svg.matchAll(/class="st-whisker"[^>]*? x1="([\d.]+)%" x2="([\d.]+)%"/g)].flatMap(([, a, b]) => [
    Number(a),
    Number(b),
  ]);
  expect(places).toHaveLength(6);
  expect(Math.min(...places)).toBeGreaterThanOrEqual(2);
  expect(Math.max(...places)).toBeLessThanOrEqual(98);
});

it('marks simulated numbers beside title and values', () => {
  const svg = chart([[1, 2]], { mark: 'simulated' });
  expect(svg.match(/simulated/g)).toHaveLength(3);
});

it('explains the marks of its notes below the axis, in a line of its own', () => {
  const plain = chart([[1, 2]]);
  const svg = chart([[1, 2]], { legend: 'n.s.: no significant difference' });
  expect(svg).toContain('>n.s.: no significant difference</text>');
  const heightOf = (text: string): number => Number(/height="(\d+)"/.exec(text)?.[1]);
  expect(heightOf(svg)).toBeGreaterThan(heightOf(plain));
  const lines = textLines(svg);
  expect(Math.max(...lines)).toBe(lines.at(-1));
  expect(Math.max(...lines)).toBeLessThan(heightOf(svg));
  expect((lines.at(-1) ?? 0) - (lines.at(-2) ?? 0)).toBeGreaterThanOrEqual(14);
});
