import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { flagsOf } from '../../src/cli/flags.ts';
import { commandHelp, overview } from '../../src/cli/help.ts';
import { commands } from '../../src/cli/table.ts';
import { benchServe } from './bench/plan.ts';

const widths = [50, 80, 100, 140];
const plain = (text: string): readonly string[] => stripVTControlCharacters(text).split('\n');

/** What both `--help` of every command and that of `bench serve` hold. */
function check(command: Command, width: number): void {
  const lines = plain(commandHelp(command, width));
  expect(lines.filter((line) => line.length > width)).toEqual([]);
  for (const flag of flagsOf(command)) {
    const named = lines.filter((line) => new RegExp(`^  (--[\\w-]+, )?${flag.name}(?![\\w-])`).test(line));
    const off = lines.filter((line) => line.startsWith(`  ${flag.name.replace('--', '--no-')}`) && flag.negatable);
    expect([flag.name, named.length + (named.length > 0 ? 0 : off.length)]).toEqual([flag.name, 1]);
  }
}

describe('help', () => {
  it.each(widths)('of bench serve names every option once, within %i columns', (width) => check(benchServe, width));

  it('of every command names every option once, within the width', async () => {
    for (const entry of commands) {
      const command = await entry.load();
      for (const width of widths) check(command, width);
    }
  });

  it('shows defaults and choices', () => {
    const text = plain(commandHelp(benchServe, 140)).join('\n');
    expect(text).toMatch(/--num-prompts N +Requests to send \(default 1000\)/);
    expect(text).toMatch(/--ramp-up-strategy linear\|exponential/);
    expect(text).toMatch(/--compat NAME [^-]*one of servetune,\s+vllm-0\.11\.0, vllm-0\.11\.1, vllm-2026-08/);
    expect(text).toMatch(/--ignore-eos, --no-ignore-eos/);
    expect(text).toMatch(/--extra-body JSON/);
    expect(text).toMatch(/--header KEY=VALUE \.\.\./);
    expect(text).toMatch(/--goodput NAME:MS \.\.\./);
    expect(text).not.toMatch(/undefined|\[object|\(default \)/);
  });

  it('has the headings in order', () => {
    const lines = plain(commandHelp(benchServe, 100));
    const at = [
      'Server', 'Request', 'Dataset', 'Dataset random', 'Dataset timed_trace', 'Arrivals', 'Sampling', 'Results',
      'Compatibility', 'Accepted without effect', 'Not supported here', 'Examples',
    ].map((title) => lines.indexOf(title)); // biome-ignore format: a list of headings
    expect(at).not.toContain(-1);
    expect(at).toEqual([...at].sort((a, b) => a - b));
  });

  it('breaks long examples where a shell reads on, never within quotes', () => {
    const quoted = `--extra-body '{"a": 1, "b": 2, "c": 3}'`;
    const line = `servetune bench serve ${'--num-prompts 5 '.repeat(6)}${quoted} --seed 1`;
    const lines = plain(commandHelp({ ...benchServe, examples: [[line, 'much']] }, 60));
    const shown = lines.slice(lines.indexOf('Examples') + 2).join('\n');
    expect(shown).toContain(' \\\n');
    expect(shown).toContain(`'{"a": 1, "b": 2, "c": 3}'`);
    expect(shown.replace(/ \\\n */g, ' ').trim()).toBe(`npx ${line}`); // as it is called in a clone
  });

  it.each(widths)('of the whole program fits into %i columns', (width) => {
    const lines = plain(overview(commands, '1.2.3', width));
    expect(lines.filter((line) => line.length > width)).toEqual([]);
    for (const { name } of commands) expect(lines.some((line) => line.startsWith(`  ${name}`))).toBe(true);
  });
});
