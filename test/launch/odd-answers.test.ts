import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stopEngine } from '../../src/study/running-engine.ts';
import { reasonAgainst, trialsOf } from '../cli/command.ts';
import { eventually, expectFreshBuild } from '../processes/living.ts';
import { startStudy } from './small-study.ts';
import { type Attempt, attempt, type Does, emptyFolder, expectNothingLeft, standIns } from './stand-in.ts';

beforeAll(expectFreshBuild);

/** Starts one stand-in, ends it, and leaves nothing. */
async function tried(does: Does, more?: Parameters<typeof attempt>[1]): Promise<Attempt> {
  const ours = standIns({ startS: 0.2, ...does });
  const made = await attempt(ours, more);
  if (made.start.running) await stopEngine(made.start.running.engineProcess);
  await expectNothingLeft(ours, [made.port]);
  return made;
}

const html = '<html>\n<body>Welcome to \u001b[31mnginx</body></html>';

describe('a start that is not ready in time', () => {
  it.each<[string, Does, RegExp]>([
    ['an unhealthy one', { '/health': { status: 503 } }, /GET \S+\/health answers 503/],
    [
      'no list of models',
      { '/v1/models': { body: html } },
      /other than a list of models: <html> <body>Welcome to \[31m/,
    ],
    ['no such list', { '/v1/models': { status: 404, body: '{}' } }, /\/v1\/models answers 404: \{\}/],
    ['what is no HTTP', { '/health': { bytes: 'SSH-2.0-OpenSSH_9\r\n' } }, /does not speak HTTP \(/],
    ['a failing test', { '/v1/chat/completions': { status: 500, body: 'no' } }, /test request failed: HTTP 500 .*no/],
    ['a page for a test', { '/v1/chat/completions': { body: html } }, /test request failed: .*<html>/],
    ['a test without an answer', { '/v1/chat/completions': { hangs: true } }, /test request is not answered/],
  ])('says what came in place of an answer: %s', async (_, routes, words) => {
    const { start } = await tried({ routes }, { limits: { start_timeout_s: 3 } });
    expect(start.failure).toMatchObject({ fate: 'timed_out', failure: { message: expect.stringMatching(words) } });
    expect(start.failure?.failure.message).toMatch(/^not ready after 3 s: /);
  });
});

describe('a start comes up', () => {
  it('though its health answer never ends', async () => {
    const { start } = await tried({ routes: { '/health': { endless: true } } });
    expect(start.failure).toBeUndefined();
  });

  it('without settings, where the question for them is never answered', async () => {
    const { start } = await tried({ routes: { '/server_info': { hangs: true } } }, { engine: 'sglang' });
    expect(start.running?.effectiveSettings).toBeDefined();
  }, 60_000);
});

it('ends what has left its parents, its session and its outputs between two looks', async () => {
  const ours = standIns({ startS: 1, daemonS: 0.2 });
  const { start, port } = await attempt(ours);
  expect(ours.alive()).toHaveLength(2);
  if (start.running) await stopEngine(start.running.engineProcess);
  expect(ours.alive()).toEqual([]);
  await expectNothingLeft(ours, [port]);
});

describe('a cache that cannot be reset', () => {
  it('makes the trial invalid, or hung, and the study goes on', async () => {
    const reset = (answer: Does): Does => ({ routes: { '/reset_prefix_cache': answer } });
    const study = startStudy(emptyFolder(), {
      101: reset({ status: 500, body: 'Internal Server Error' }),
      102: reset({ status: 404, body: '{"detail":"Not Found"}' }),
      103: reset({ hangs: true }),
    });
    const { code, stderr } = await study.ended;
    expect(stderr).not.toContain('fault of servetune');
    expect(code).toBe(0);
    const trials = trialsOf(study.runDir);
    const row = (way: number) => trials.find((t) => t.configuration.settings.max_running_requests === way);
    expect(row(101)).toMatchObject({ fate: 'invalid_measurement' });
    expect(row(101)?.failure?.message).toMatch(/POST \S+\/reset_prefix_cache answered 500 Internal Server Error/);
    expect(row(102)?.failure?.message).toMatch(/answered 404 /);
    expect(row(102)?.failure?.hint).not.toContain('VLLM_SERVER_DEV_MODE');
    expect(row(103)).toMatchObject({ fate: 'hung', failure: { message: expect.stringMatching(/reset.* 30 s/) } });
    expect(reasonAgainst(trials[0])).toBeUndefined();
    await expectNothingLeft(study.ours, study.ports());
  }, 120_000);
});

describe('the folder of a run at work', () => {
  const slow = { tokenS: 0.05 };

  it('ends the study at once when it is removed, with its name and without an engine', async () => {
    const study = startStudy(emptyFolder(), { 101: {}, 102: {} }, { all: slow });
    await eventually(() => existsSync(join(study.runDir, 'trials/001/records.jsonl')), 40);
    rmSync(study.runDir, { recursive: true });
    const { code, stderr } = await study.ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/runs\/launch: run\.db was removed or replaced/);
    expect(existsSync(join(study.runDir, 'trials/002'))).toBe(false);
    await expectNothingLeft(study.ours, [8000]);
  }, 60_000);

  it('is not shared with whoever takes its lock', async () => {
    const study = startStudy(emptyFolder(), { 101: {}, 102: {} }, { all: slow });
    await eventually(() => existsSync(join(study.runDir, 'trials/001/records.jsonl')), 40);
    rmSync(join(study.runDir, 'lock.json'));
    const { code, stderr } = await study.ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/runs\/launch: lock\.json was removed or replaced/);
    expect(trialsOf(study.runDir)).toHaveLength(1);
    await expectNothingLeft(study.ours, study.ports());
  }, 60_000);
});

it.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'a disk that is full by the time of the start is the reason, and the engine is gone',
  async () => {
    const disk = join(emptyFolder(), 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
    try {
      const dir = join(disk, 'trial');
      mkdirSync(dir);
      expect(() => writeFileSync(join(disk, 'ballast'), Buffer.alloc(128 * 1024))).toThrow(/ENOSPC/);
      const ours = standIns({ startS: 5 });
      await expect(attempt(ours, { dir })).rejects.toMatchObject({
        code: 'disk_full',
        message: expect.stringContaining(dir),
        hint: expect.stringContaining('--resume'),
        exitCode: 2,
      });
      await expectNothingLeft(ours, [8000]);
    } finally {
      execFileSync('umount', [disk]);
    }
  },
);
