import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleepMs } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configurationKey } from '../../src/records/settings.ts';
import { eventually, lives, parentOf } from '../processes/living.ts';
import { folder, processesWith, reasonAgainst, servetune, smallStudy, start, trialsOf } from './command.ts';

let dir: string;
beforeEach(() => {
  dir = folder();
});
afterEach(() => {
  // Whatever a test did: nothing that it started is alive.
  expect(processesWith(dir)).toEqual([]);
});

describe('servetune tune', () => {
  it('runs a study on a real engine, from the baseline to a confirmed command and a report', async () => {
    const { code, stdout, stderr } = await servetune(['tune', smallStudy(dir)], { cwd: dir });
    expect(stderr).not.toContain('fault of servetune');
    expect(code).toBe(0);
    // Numbers and totals agree at the end.
    const [, last, of] = [...stderr.matchAll(/^\[ *(\d+)\/(\d+)\]/gm)].at(-1) ?? [];
    expect(last).toBe(of);
    const runDir = join(dir, 'runs/small');
    const trials = trialsOf(runDir);
    expect(trials[0]).toMatchObject({ purpose: 'baseline', fate: 'measured', workload: 'chat' });
    expect(trials.map(reasonAgainst).filter(Boolean)).toEqual([]);
    expect(trials.some((t) => t.purpose === 'baseline_again')).toBe(true);
    for (const { summary } of trials) {
      expect(summary).toMatchObject({ asked: 12, ok: 12, failed: 0, outputTokens: 96, outputTokensAsked: 96 });
    }
    const final = trials.at(-1);
    expect(Number(last)).toBe(trials.length);
    if (final?.purpose === 'confirmation') expect(stdout).toContain(final.servingCommand.join(' '));
    expect(stdout).toContain('npx servetune serve --model tiny-qwen3');
    const report = readFileSync(join(runDir, 'report.md'), 'utf8');
    expect(report).toContain('Serving Benchmark Result');
    expect(readFileSync(join(runDir, 'report.html'), 'utf8')).toContain('<svg');
    expect(readdirSync(join(runDir, 'trials/001')).sort()).toEqual(['engine.json', 'engine.log', 'records.jsonl']);
    const records = readFileSync(join(runDir, 'trials/001/records.jsonl'), 'utf8').trim().split('\n');
    expect(records).toHaveLength(12);

    const again = await servetune(['tune', smallStudy(dir)], { cwd: dir });
    expect(again).toMatchObject({ code: 2 });
    expect(again.stderr).toContain('--resume');
    const rewritten = await servetune(['report', 'small', '--format', 'json', '--out', dir], { cwd: dir });
    expect(rewritten.code).toBe(0);
    expect(JSON.parse(readFileSync(join(dir, 'report.json'), 'utf8'))).toBeTypeOf('object');
  });

  it('goes on after kill -9 with the same trials, none twice, and its engine is gone within 5 s', async () => {
    const study = smallStudy(dir);
    const runDir = join(dir, 'runs/small');
    const first = start(['tune', study], { cwd: dir });
    await eventually(() => existsSync(join(runDir, 'trials/002/records.jsonl')), 60);
    first.child.kill('SIGKILL');
    await first.ended;
    const engineAlive = (): boolean => processesWith('serve\0--model\0tiny-qwen3').length > 0;
    await eventually(() => !processesWith(dir).length, 5);
    await eventually(() => !engineAlive() || undefined, 5);
    const kept = trialsOf(runDir);
    expect(kept.length).toBeGreaterThan(0);

    const { code, stderr } = await servetune(['tune', study, '--resume'], { cwd: dir });
    expect(code).toBe(0);
    expect(stderr).toContain('resumed');
    const trials = trialsOf(runDir);
    expect(trials.slice(0, kept.length)).toEqual(kept);
    expect(trials.map((t) => t.id)).toEqual(trials.map((_, i) => i + 1));
    const once = trials.filter((t) => t.purpose !== 'repeat');
    const keys = once.map((t) => `${t.purpose} ${t.workload} ${configurationKey(t.configuration)}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it.each(['--resume', '--fresh'])(
    'ends with %s an engine that lost its owner and its watchdog at once',
    async (option) => {
      const study = smallStudy(dir);
      const running = start(['tune', study], { cwd: dir });
      const note = await eventually(() => {
        const path = join(dir, 'runs/small/trials/001/engine.json');
        return existsSync(path) && (JSON.parse(readFileSync(path, 'utf8')) as { pid: number });
      }, 60);
      const watchdog = parentOf(note.pid);
      running.child.kill('SIGKILL');
      process.kill(watchdog, 'SIGKILL');
      await running.ended;
      expect(lives(note.pid)).toBe(true);
      const { code } = await servetune(['tune', study, option], { cwd: dir });
      expect(code).toBe(0);
      expect(lives(note.pid)).toBe(false);
    },
  );

  it('calls it no verdict when the budget ends before anything is tried', async () => {
    const study = smallStudy(dir, (text) => text.replace('repeats:', 'budget: { max_trials: 3 }\nrepeats:'));
    const { code, stdout } = await servetune(['tune', study], { cwd: dir });
    expect(code).toBe(0);
    expect(trialsOf(join(dir, 'runs/small')).length).toBeLessThanOrEqual(3);
    expect(stdout).toContain('The budget ended before anything was tried');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('stops cleanly at %s, and says how to go on', async (signal) => {
    const running = start(['tune', smallStudy(dir)], { cwd: dir });
    await eventually(() => existsSync(join(dir, 'runs/small/trials/001/records.jsonl')), 60);
    running.child.kill(signal);
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain('--resume');
    expect(stderr).not.toContain('    at ');
    await sleepMs(300);
    expect(processesWith(dir)).toEqual([]);
  });

  it('prints every command with --dry-run, and starts nothing', async () => {
    const { code, stdout } = await servetune(['tune', smallStudy(dir), '--dry-run'], { cwd: dir });
    expect(code).toBe(0);
    expect(stdout.match(/servetune serve /g)).toHaveLength(3);
    // Below each configuration the load that decides, and once that on which only baseline and winner are measured.
    expect(stdout.match(/bench serve /g)).toHaveLength(3 + 1);
    expect(existsSync(join(dir, 'runs'))).toBe(false);
  });

  it('records a configuration that cannot work as a row, without starting it, and goes on', async () => {
    // Each alternative is fine on top of the baseline; on top of one another they are not.
    const study = smallStudy(dir, (text) =>
      text
        .replace('[{ quantization: q4_0 }]', '[{ quantization: q4_0, max_running_requests: 12 }]')
        .replace('{ max_running_requests: 2 }', '{ max_batched_tokens: 8 }'),
    );
    const { code } = await servetune(['tune', study], { cwd: dir });
    expect(code).toBe(0);
    const trials = trialsOf(join(dir, 'runs/small'));
    const winner = trials.find((t) => t.stage === 'batch')?.configuration.settings;
    const odd = trials.filter((t) => t.fate === 'unsupported_setting');
    if (winner?.max_running_requests === 12) {
      expect(odd).toHaveLength(1);
      expect(odd[0]?.failure?.message).toContain('max_batched_tokens');
      expect(odd[0]?.times).toEqual({});
    } else expect(odd).toEqual([]);
  });

  it('refuses a study that changed under its run', async () => {
    const running = start(['tune', smallStudy(dir)], { cwd: dir });
    await eventually(() => existsSync(join(dir, 'runs/small/trials/001/records.jsonl')), 60);
    running.child.kill('SIGINT');
    await running.ended;
    const changed = smallStudy(dir, (text) => text.replace('max_running_requests: 2', 'max_running_requests: 3'));
    const { code, stderr } = await servetune(['tune', changed, '--resume'], { cwd: dir });
    expect(code).toBe(2);
    expect(stderr).toContain('changed: stages');
  });

  it('lets no second process into a run', async () => {
    const running = start(['tune', smallStudy(dir)], { cwd: dir });
    await eventually(() => existsSync(join(dir, 'runs/small/trials/001')), 60);
    const { code, stderr } = await servetune(['tune', smallStudy(dir), '--resume'], { cwd: dir });
    expect(code).toBe(2);
    expect(stderr).toContain(String(running.child.pid));
    expect((await servetune(['tune', smallStudy(dir), '--fresh'], { cwd: dir })).code).toBe(2);
    expect(existsSync(join(dir, 'runs/small.1'))).toBe(false);
    running.child.kill('SIGINT');
    await running.ended;
  });
});

describe('bad input of servetune tune: one clear message, exit code 2, no stack trace', () => {
  const cases: readonly [string, (text: string) => string, RegExp][] = [
    ['an unknown key', (t) => t.replace('stages:', 'stagse: []\nstages:'), /unknown key “stagse”/],
    ['an impossible value', (t) => t.replace('num_prompts: 12', 'num_prompts: 0'), /num_prompts/],
    ['a missing workload', (t) => t.replace(/workloads:[\s\S]*?repeats/, 'repeats'), /workloads: is missing/],
    ['bad indentation', (t) => t.replace('  - { name: batch', ' - { name: batch'), /study\.yaml:\d+:\d+/],
    ['a missing model', (t) => t.replace('model: tiny-qwen3', 'model: /nowhere/m.gguf'), /m\.gguf/],
    [
      'a batch below the sequences',
      (t) => t.replace('threads: 1 }', 'threads: 1, max_running_requests: 9, max_batched_tokens: 8 }'),
      /max_batched_tokens/,
    ],
  ];
  it.each(cases)('%s', async (_, change, expected) => {
    const { code, stderr, stdout } = await servetune(['tune', smallStudy(dir, change)], { cwd: dir });
    expect(stderr).toMatch(expected);
    expect(stderr).not.toMatch(/\n {4}at |fault of servetune/);
    expect(stdout).toBe('');
    expect(code).toBe(2);
    expect(existsSync(join(dir, 'runs'))).toBe(false);
  });

  it('a truncated GGUF', async () => {
    const whole = join(dir, 'whole.gguf');
    writeFileSync(whole, Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(40)]));
    const { code, stderr } = await servetune(['tune', smallStudy(dir, (t) => t.replace('tiny-qwen3', whole))], {
      cwd: dir,
    });
    expect(code).toBe(2);
    expect(stderr).toContain('whole.gguf');
  });

  it.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')('a full disk under the run', async () => {
    const disk = join(dir, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=180k', 'tmpfs', disk]);
    try {
      const { code, stderr } = await servetune(['tune', smallStudy(dir), '--run', join(disk, 'run')], { cwd: dir });
      expect(stderr).toMatch(/disk is full/);
      expect(stderr).not.toContain('fault of servetune');
      expect(code).toBe(2);
    } finally {
      await eventually(() => processesWith(dir).length === 0, 10);
      execFileSync('umount', [disk]);
    }
  });
});
