import { describe, expect, it } from 'vitest';
import { servetune } from './command.ts';

describe('the command line', () => {
  it('shows its commands and its version', async () => {
    const help = await servetune(['--help']);
    expect(help.code).toBe(0);
    for (const name of ['tune', 'bench serve', 'dataset', 'dataset fetch', 'summarize', 'import', 'report', 'serve'])
      expect(help.stdout).toContain(name);
    expect((await servetune(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('explains each option of a command, with its default', async () => {
    const { stdout } = await servetune(['bench', 'serve', '--help']);
    expect(stdout).toMatch(/--num-prompts N +Requests to send \(default 1000\)/);
    expect(stdout).toMatch(/--no-ignore-eos/);
  });

  it('explains a command that is the beginning of another, and a group that is none', async () => {
    const dataset = await servetune(['dataset', '--help']);
    expect(dataset.stdout).toMatch(/--dataset-name/);
    const bench = await servetune(['bench', '--help']);
    expect(bench.stdout).toMatch(/bench serve {2}/);
    expect(bench.stdout).not.toMatch(/dataset fetch/);
  });

  it('suggests what was meant', async () => {
    const { code, stderr } = await servetune(['tuen']);
    expect(code).toBe(2);
    expect(stderr).toContain('did you mean npx servetune tune?');
  });

  it('names everything that is wrong with its options at once', async () => {
    const { code, stderr } = await servetune([
      'bench', 'serve', '--num-promts', '10', '--seed', '-1', '--random-range-ratio', 'much', '--burstyness=2', '--max-concurrency',
    ]); // biome-ignore format: a command line
    expect(code).toBe(2);
    expect(stderr).toContain('--num-promts: unknown option');
    expect(stderr).toContain('did you mean --num-prompts?');
    expect(stderr).toContain('--burstyness: unknown option');
    expect(stderr).toMatch(/--seed: must be at least 0/);
    expect(stderr).toContain('--random-range-ratio');
    expect(stderr).toContain('--max-concurrency: needs a value');
  });

  it('takes the spellings of argparse: underscores, prefixes, =', async () => {
    const { stderr } = await servetune([
      'bench',
      'serve',
      '--num_prompts=5',
      '--max-conc',
      '2',
      '--random',
      '3',
      '--port',
      '1',
    ]);
    expect(stderr).toContain('--random: is ambiguous');
    expect(stderr).not.toContain('--num');
    expect(stderr).not.toContain('--max-conc');
  });
});
