import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { metrics } from '../../src/metrics/table.ts';
import { vllmTraits } from '../../src/metrics/vllm/version.ts';
import { compatModes } from '../../src/records/compat.ts';
import { outcomes } from '../../src/records/request.ts';

const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
const rows = page.split('\n').flatMap((line) =>
  line.startsWith('| ')
    ? [
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ]
    : [],
);
const row = (first: string): string[] => rows.find(([name]) => name === first) ?? [];

it('names every metric, in the order of the table, as the block does', () => {
  const first = rows.findIndex(([name]) => name === 'name') + 2;
  const documented = rows.slice(first, first + metrics.length).map((cells) => cells.slice(0, 3));
  expect(documented).toEqual(metrics.map(({ name, title, short }) => [`\`${name}\``, title, short]));
  expect(rows[first + metrics.length]?.[0]).toBe('figure');
});

it('names every mode and every outcome', () => {
  expect(rows).toContainEqual(['', ...compatModes.map((mode) => `\`${mode}\``)]);
  for (const outcome of outcomes.filter((o) => o !== 'ok')) expect(page).toContain(`\`${outcome}\``);
});

it('says of each release what the code does', () => {
  for (const [i, mode] of compatModes.entries()) {
    if (mode === 'servetune') continue;
    const { countsFailed, promptTokensBy, savesStartTimes, totalThroughputLabel } = vllmTraits[mode];
    const cell = (name: string): string => row(name)[i + 1] ?? '';
    expect(cell('input tokens').startsWith(promptTokensBy)).toBe(true);
    expect(cell('failed requests')).toMatch(countsFailed ? /^printed, saved/ : /^neither/);
    expect(cell('`start_times`, `rtfx`')).toBe(savesStartTimes ? 'saved' : 'no');
    expect(totalThroughputLabel.startsWith(cell('label of the total').replaceAll('`', ''))).toBe(true);
  }
});
