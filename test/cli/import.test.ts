import { copyFileSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseArgv } from '../../src/cli/argv.ts';
import type { Command } from '../../src/cli/command.ts';
import { commandHelp } from '../../src/cli/help.ts';
import command from '../../src/cli/import.ts';
import report from '../../src/cli/report.ts';
import { openStore } from '../../src/store/store.ts';

const fixtures = resolve(import.meta.dirname, '../fixtures/importers');
const fixture = (name: string): string => join(fixtures, name);
const published = fixture('qwen3-14b-h100.ja.txt');
const failed = fixture('vllm-2026-08.json');

/** Runs a command as `main.ts` does, and gives what it said. */
async function servetune(words: readonly string[], which: Command = command) {
  const said: string[] = [];
  const noted: string[] = [];
  const code = await which.run(parseArgv(which, words), {
    signal: new AbortController().signal,
    environment: {},
    interactive: false,
    print: (text) => said.push(text),
    note: (text) => noted.push(text),
    status() {},
  });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
  const plain = (lines: readonly string[]): string => lines.join('\n').replace(/\u001b\[\d+m/g, '');
  return { code, stdout: plain(said), stderr: plain(noted) };
}

const home = process.cwd();
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'servetune-cli-import-'));
  process.chdir(dir);
});
afterEach(() => process.chdir(home));

describe('servetune import', () => {
  it('shows what it read in a table, and keeps it', async () => {
    const { code, stdout } = await servetune([published]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/result +ok\/asked +req\/s +output tok\/s +total tok\/s +TTFT ms +TPOT ms +verdict/);
    expect(stdout).toMatch(
      /vLLM > ベンチマーク結果 +1000\/- +15\.74 +3173\.92 +6595\.66 +22141\.21 +226\.03 +plausible/,
    );
    expect(stdout).toContain('15 results imported into runs/imported');
    using store = openStore('runs/imported', { readonly: true });
    expect(store.imports()).toHaveLength(15);
  });

  it('marks what cannot be right, says why and where, and ends well all the same', async () => {
    const { code, stdout } = await servetune([failed, '--run', 'night']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/night +5\/7 .* invalid/);
    expect(stdout).toContain('vllm-2026-08.json:1: invalid 2 of 7 requests failed.');
    expect(stdout).toContain('1 result imported into runs/night; 1 of 1 invalid');
    using store = openStore('runs/night', { readonly: true });
    expect(store.imports()[0]?.problems).toContain('2 of 7 requests failed.');
  });

  it('takes a file in which nothing succeeded', async () => {
    writeFileSync('none.json', '{"completed": 0, "duration": 1.5, "request_throughput": 0.0, "num_prompts": 9}');
    const { code, stdout } = await servetune(['none.json']);
    expect(code).toBe(0);
    expect(stdout).toContain('none.json:1: invalid Not one of 9 requests succeeded.');
  });

  it('does not double what is there', async () => {
    await servetune([published]);
    copyFileSync(published, 'copy.txt');
    const { stdout } = await servetune(['copy.txt', failed]);
    expect(stdout).toContain('1 result imported into runs/imported; 15 were there already (same file, same line)');
    using store = openStore('runs/imported', { readonly: true });
    expect(store.imports()).toHaveLength(16);
  });

  it('prints JSON for programs', async () => {
    const { stdout } = await servetune([failed, published, '--json', '--run', join(dir, 'deep/run')]);
    const told = JSON.parse(stdout) as { run: string; results: Record<string, unknown>[]; unread: unknown[] };
    expect(told.run).toBe(join(dir, 'deep/run'));
    expect(told.unread).toEqual([]);
    expect(told.results).toHaveLength(16);
    expect(told.results[0]).toMatchObject({ valid: false, added: true, figures: { completed: 5 }, label: 'night' });
    expect(told.results[1]).toMatchObject({ valid: true, problems: [], latencies: { ttft: { mean: 22.14121 } } });
  });

  it('imports what it can read and names the rest, each with its place', async () => {
    writeFileSync('half.json', '{"completed": 1}\n{"completed": "five"}\n{"compl');
    const { code, stdout, stderr } = await servetune(['half.json', 'nowhere', published]);
    expect(code).toBe(0);
    expect(stdout).toContain('15 results imported');
    for (const place of ['half.json:2: completed', 'half.json:3: the JSON', 'nowhere: there is no such file']) {
      expect(stderr).toContain(place);
    }
  });

  it('fails when nothing could be read, and leaves no run behind', async () => {
    await expect(servetune(['nowhere', fixture('README.md')])).rejects.toMatchObject({
      exitCode: 2,
      problems: [{ place: 'nowhere' }, { message: 'holds no result in a format that servetune reads' }],
    });
    expect(existsSync('runs')).toBe(false);
    await expect(servetune([])).rejects.toThrow(/FILE\.\.\.: is missing/);
  });

  it('is strict when it is told to', async () => {
    expect((await servetune([published, '--strict'])).code).toBe(0);
    expect((await servetune([published, failed, '--strict'])).code).toBe(3);
    expect((await servetune([published, failed, 'nowhere', '--strict'])).code).toBe(2);
  });

  it('reads in the format that was named, and knows its formats', async () => {
    await expect(servetune([published, '--format', 'vllm-json'])).rejects.toThrow(/is no JSON/);
    expect((await servetune([published, '--format', 'vllm-block'])).code).toBe(0);
    await expect(servetune([published, '--format', 'csv'])).rejects.toThrow(/--format/);
    expect(commandHelp(command)).toMatch(/servetune import FILE\.\.\. \[options\]/);
  });

  it('leaves a run that has no study, and the report says so', async () => {
    await servetune([published, '--run', 'only']);
    await expect(servetune(['only'], report)).rejects.toThrow(/only: holds nothing but imported results, and no study/);
  });
});
