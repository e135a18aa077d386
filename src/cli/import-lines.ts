import pc from 'picocolors';
import { askedOf, type ImportedResult, type JudgedImport } from '../records/imported.ts';

/** Widest label that is shown; of a longer one the end is, which tells results of one document apart. */
const labelWidth = 44;

/** A table of imported results: right-aligned figures as they were told, `-` for what was not. */
export function importTable(results: readonly JudgedImport[]): readonly string[] {
  const head = ['result', 'ok/asked', 'req/s', 'output tok/s', 'total tok/s', 'TTFT ms', 'TPOT ms', 'verdict'];
  const rows = results.map((result) => {
    const { figures, latencies } = result;
    const asked = askedOf(result);
    return [
      shortened(result.label ?? result.source.file),
      `${figures.completed ?? '-'}/${asked ?? '-'}`,
      decimal(figures.requestThroughput),
      decimal(figures.outputThroughput),
      decimal(figures.totalTokenThroughput),
      decimal(latencies.ttft?.mean ?? null, 1000),
      decimal(latencies.tpot?.mean ?? null, 1000),
      result.problems.length === 0 ? 'plausible' : 'invalid',
    ];
  });
  const widths = head.map((title, i) => Math.max(...[title, ...rows.map((row) => row[i] as string)].map(columns)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => {
        const fill = ' '.repeat((widths[i] as number) - columns(cell));
        return i === 0 || i === cells.length - 1 ? cell + fill : fill + cell;
      })
      .join('  ')
      .trimEnd();
  return [
    pc.bold(line(head)),
    ...rows.map((row) =>
      line(row)
        .replace(/invalid$/, pc.red('invalid'))
        .replace(/plausible$/, pc.green('plausible')),
    ),
  ];
}

/** Reasons against results and remarks about them, by place. What many results share is said once. */
export function importRemarks(results: readonly JudgedImport[]): readonly string[] {
  const places = new Map<string, string[]>();
  for (const result of results) {
    for (const said of [...result.problems.map((p) => `${pc.red('invalid')} ${p}`), ...result.remarks]) {
      places.set(said, [...(places.get(said) ?? []), placeOf(result)]);
    }
  }
  return [...places].map(([said, at]) => {
    const more = at.length > 3 ? ` and ${at.length - 3} more` : '';
    return `${at.slice(0, 3).join(', ')}${more}: ${said}`;
  });
}

export const placeOf = ({ source }: ImportedResult): string => `${source.file}:${source.line}`;

const decimal = (value: number | null, factor = 1): string => (value === null ? '-' : (value * factor).toFixed(2));

/** Columns on a terminal: East Asian characters take two, combining ones none. */
const columns = (text: string): number => [...text].reduce((sum, letter) => sum + columnsOf(letter), 0);

function columnsOf(letter: string): number {
  if (/\p{M}|\p{Cf}/u.test(letter)) return 0;
  return /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
    letter,
  )
    ? 2
    : 1;
}

function shortened(label: string): string {
  const letters = [...label.replace(/\s+/g, ' ')];
  let width = letters.reduce((sum, letter) => sum + columnsOf(letter), 0);
  if (width <= labelWidth) return letters.join('');
  while (width > labelWidth - 1) width -= columnsOf(letters.shift() as string);
  return `…${letters.join('')}`;
}
