import { scaleLinear } from 'd3-scale';
import { formatQuantity } from '../../kit/words.ts';
import type { Tone } from '../document.ts';
import { escapeMarkup } from '../escape.ts';

export interface BarChart {
  /** What the values are, without the unit. */
  readonly title: string;
  /** The whole content in words, for those who do not see it. */
  readonly description: string;
  readonly unit: string;
  readonly locale: string;
  /** Stands beside the title of numbers that were not measured. */
  readonly mark?: string;
  /** Stands for a value that there is none of. */
  readonly missing: string;
  /** What a mark in the notes means, in a line of its own below the axis. */
  readonly legend?: string;
  readonly groups: readonly { readonly label: string; readonly bars: readonly Bar[] }[];
}

export interface Bar {
  readonly series: string;
  readonly value: number | null;
  /** Ends of the whisker, in the unit of the value. */
  readonly low?: number;
  readonly high?: number;
  readonly note?: string;
  readonly tone?: Tone;
}

const margin = 2;
const height = { title: 34, group: 24, text: 17, bar: 15, gap: 7, groupGap: 12, axis: 26, legend: 20 };
const longestLabel = 64;

/**
 * Grouped horizontal bars as SVG, one group a workload, the first series muted and the others strong. Each bar carries
 * its series, value and change on a line of its own above it, so texts cannot collide however long they are. Horizontal
 * places are percentages: the drawing fills the width it is given and its letters keep their size, on paper, on a phone
 * and as a file of its own.
 */
export function barChart(chart: BarChart): string {
  const top = Math.max(0, ...chart.groups.flatMap((g) => g.bars.flatMap((b) => [b.value ?? 0, b.high ?? 0])));
  const scale = scaleLinear()
    .domain([0, top > 0 ? top : 1])
    .nice(4)
    .range([margin, 100 - margin]);
  const parts: string[] = [];
  let y = height.title;
  for (const group of chart.groups) {
    parts.push(groupLabel(group.label, y + 15));
    y += height.group;
    group.bars.forEach((bar, i) => {
      parts.push(barText(bar, chart, y + 11));
      y += height.text;
      if (bar.value !== null) parts.push(barShape(bar, i, y, scale));
      y += height.bar + height.gap;
    });
    y += height.groupGap;
  }
  const bottom = y - height.groupGap + 4;
  const total = bottom + height.axis + (chart.legend ? height.legend : 0);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="st-chart" width="760" height="${total}" role="img" aria-labelledby="st-chart-title st-chart-desc">`,
    `<title id="st-chart-title">${escapeMarkup(chart.title)}</title>`,
    `<desc id="st-chart-desc">${escapeMarkup(chart.description)}</desc>`,
    `<style>${style}</style>`,
    '<rect class="st-ground" width="100%" height="100%" fill="#ffffff"/>',
    `<text class="st-ink st-strong" x="${margin}%" y="20">${escapeMarkup(cut(titleOf(chart)))}</text>`,
    ...axis(scale, height.title - 4, bottom, chart.locale),
    ...parts,
    ...(chart.legend
      ? [
          `<text class="st-soft st-tick" x="${margin}%" y="${bottom + height.axis + 12}">${escapeMarkup(chart.legend)}</text>`,
        ]
      : []),
    '</svg>',
  ].join('\n');
}

const titleOf = ({ title, unit, mark }: BarChart): string => `${title}, ${unit}${mark ? ` (${mark})` : ''}`;

const cut = (text: string): string => {
  const characters = [...text];
  return characters.length > longestLabel ? `${characters.slice(0, longestLabel - 1).join('')}…` : text;
};

const percent = (value: number): string => `${Number(value.toFixed(3))}%`;

const groupLabel = (label: string, y: number): string =>
  `<text class="st-ink st-strong" x="${margin}%" y="${y}">${escapeMarkup(cut(label))}</text>`;

function barText({ series, value, note, tone }: Bar, { unit, locale, mark, missing }: BarChart, y: number): string {
  const figure = value === null ? missing : `${formatQuantity(value, locale)} ${unit}`;
  const spans = [
    `<tspan class="st-soft">${escapeMarkup(series)} </tspan>`,
    `<tspan class="st-ink st-strong">${escapeMarkup(figure)}</tspan>`,
    note ? `<tspan class="st-strong st-${tone ?? 'neutral'}">${escapeMarkup(`  ${note}`)}</tspan>` : '',
    mark && value !== null ? `<tspan class="st-soft">${escapeMarkup(` ${mark}`)}</tspan>` : '',
  ];
  return `<text xml:space="preserve" x="${margin}%" y="${y}">${spans.join('')}</text>`;
}

function barShape({ value, low, high }: Bar, index: number, y: number, scale: (value: number) => number): string {
  const width = Math.max(0, scale(value ?? 0) - margin);
  const [kind, fill] = index === 0 ? ['st-first', '#8b95a1'] : ['st-best', '#0072b2'];
  const bar = `<rect class="${kind}" fill="${fill}" x="${margin}%" y="${y}" width="${percent(width)}" height="${height.bar}" rx="2"/>`;
  if (low === undefined || high === undefined) return bar;
  const [from, to] = [percent(scale(Math.max(0, low))), percent(scale(high))];
  const middle = y + height.bar / 2;
  const line = (x1: string, x2: string, y1: number, y2: number): string =>
    ['st-halo', 'st-whisker']
      .map((name, i) => {
        const stroke = i === 0 ? 'stroke="#ffffff" stroke-width="4"' : 'stroke="#16202b" stroke-width="1.5"';
        return `<line class="${name}" ${stroke} x1="${x1}" x2="${x2}" y1="${y1}" y2="${y2}"/>`;
      })
      .join('');
  return [
    bar,
    line(from, to, middle, middle),
    line(from, from, middle - 4, middle + 4),
    line(to, to, middle - 4, middle + 4),
  ].join('');
}

function axis(
  scale: { (value: number): number; ticks(count: number): number[] },
  top: number,
  bottom: number,
  locale: string,
): string[] {
  const format = new Intl.NumberFormat(locale, { maximumSignificantDigits: 6 });
  const ticks = scale.ticks(4);
  // On a phone there is room for about four figures.
  const every = ticks.length > 5 ? 2 : 1;
  return ticks.map((tick, i) => {
    const x = percent(scale(tick));
    const anchor = i === 0 ? 'start' : i === ticks.length - 1 ? 'end' : 'middle';
    const label = i % every === 0 ? format.format(tick) : '';
    return (
      `<line class="st-grid" stroke="#d8dee5" x1="${x}" x2="${x}" y1="${top}" y2="${bottom}"/>` +
      (label && `<text class="st-soft st-tick" text-anchor="${anchor}" x="${x}" y="${bottom + 17}">${label}</text>`)
    );
  });
}

/** Okabe and Ito's blue against grey: told apart by every kind of colour vision, and by lightness in print. */
const style = [
  '.st-chart{--st-ink:#16202b;--st-soft:#566370;--st-grid:#d8dee5;--st-ground:#fff;--st-first:#8b95a1;--st-best:#0072b2;--st-good:#00629b;--st-bad:#a63c00;font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}',
  '@media (prefers-color-scheme:dark){.st-chart{--st-ink:#e9eef3;--st-soft:#a4b0bc;--st-grid:#303b47;--st-ground:#12181f;--st-first:#7d8894;--st-best:#56b4e9;--st-good:#7cc6f2;--st-bad:#ff9d66}}',
  '.st-ink{fill:var(--st-ink)}.st-soft,.st-neutral{fill:var(--st-soft)}.st-strong{font-weight:600}.st-tick{font-size:12px}',
  '.st-good{fill:var(--st-good)}.st-bad{fill:var(--st-bad)}.st-ground{fill:var(--st-ground)}',
  '.st-first{fill:var(--st-first)}.st-best{fill:var(--st-best)}.st-grid{stroke:var(--st-grid)}',
  '.st-whisker{stroke:var(--st-ink)}.st-halo{stroke:var(--st-ground)}',
].join('');
