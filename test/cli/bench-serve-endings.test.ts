import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/processes/ports.ts';
import { compatModes } from '../../src/records/compat.ts';
import { eventually } from '../processes/living.ts';
import { bench, figure, linesOf, startBench } from './bench-runs.ts';
import { folder, servetune } from './command.ts';
import { calls, openAiServer } from './openai-server.ts';

/** Requests that take half a second each, two at once: some have ended and most have not when a test steps in. */
const slow = [
  '--random-output-len',
  '25',
  '--random-input-len',
  '20',
  '--num-prompts',
  '200',
  '--max-concurrency',
  '2',
];
const slowServer = () => openAiServer({ everyMs: 20 });
const lineCount = (path: string): number => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0);

describe.each(compatModes)('an interruption with --compat %s', (mode) => {
  it.each(['SIGINT', 'SIGTERM'] as const)('by %s keeps what was measured', async (signal) => {
    await using server = await slowServer();
    const dir = folder();
    const path = join(dir, 'r.jsonl');
    const flags = ['--compat', mode, '--profile', '--records', path, '--save-result', '--result-dir', dir, ...slow];
    const run = startBench(server, flags);
    await eventually(() => lineCount(path) >= 3, 60);
    run.child.kill(signal);
    const { code, stdout, stderr } = await run.ended;
    expect(code).toBe(130);
    expect(stderr).not.toContain('fault of servetune');
    const outcomes = linesOf(path).map(({ outcome }) => outcome);
    const ok = outcomes.filter((outcome) => outcome === 'ok').length;
    expect(ok).toBeGreaterThanOrEqual(3);
    expect(new Set(outcomes)).toEqual(new Set(['ok', 'cancelled']));
    expect(figure(stdout, 'Successful requests:')).toBe(String(ok));
    expect(calls(server, '/stop_profile')).toBe(1);
    expect(readdirSync(dir).filter((name) => name.endsWith('.json'))).toHaveLength(1);
    // vLLM’s file of figures says nothing of those that were never sent; the records do, to whoever knows the number.
    const again = await servetune(['summarize', path, '--num-prompts', '200']);
    expect([again.code, figure(again.stdout, 'Successful requests:')]).toEqual([3, String(ok)]);
    expect(again.stderr).toMatch(/\d+ of 200 requests were never sent/);
  });
});

it('stops waiting for a server that does not come', async () => {
  const nowhere = { baseUrl: new URL(`http://127.0.0.1:${await freePort()}`) };
  const run = startBench(nowhere, ['--compat', 'vllm-0.11.0']);
  await eventually(() => run.stderr().includes('waiting for'), 60);
  run.child.kill('SIGINT');
  const { code, stderr } = await run.ended;
  expect([code, stderr]).toEqual([130, expect.stringContaining('interrupted')]);
});

it('ends at once at the second signal', async () => {
  await using server = await openAiServer({
    // The end of the profile would be waited for.
    instead: ({ url }) => (url.endsWith('stop_profile') ? { headAfterMs: 60_000, steps: [] } : undefined),
    everyMs: 20,
  });
  const path = join(folder(), 'r.jsonl');
  const run = startBench(server, ['--profile', '--records', path, ...slow]);
  await eventually(() => lineCount(path) >= 1, 60);
  run.child.kill('SIGINT');
  await eventually(() => calls(server, '/stop_profile') === 1, 20);
  run.child.kill('SIGINT');
  expect((await run.ended).code).toBe(130);
});

it('is killed: what is on the disk can be read, but for a line that was cut off', async () => {
  await using server = await slowServer();
  const path = join(folder(), 'r.jsonl');
  const run = startBench(server, ['--records', path, ...slow]);
  await eventually(() => lineCount(path) >= 4, 60);
  run.child.kill('SIGKILL');
  await run.ended;
  const whole = linesOf(path).length;
  const read = await servetune(['summarize', path]);
  expect([read.code, figure(read.stdout, 'Successful requests:')]).toEqual([0, String(whole)]);
  truncateSync(path, statSync(path).size - 9);
  const cut = await servetune(['summarize', path]);
  expect([cut.code, figure(cut.stdout, 'Successful requests:')]).toEqual([0, String(whole - 1)]);
  expect(cut.stderr).toContain(`Line ${whole} of ${path} is cut off`);
});

describe('a disk that is full', () => {
  it.runIf(existsSync('/dev/full'))('while records are written ends the load, and says what to do', async () => {
    await using server = await slowServer();
    const { code, stderr } = await bench(server, ['--records', '/dev/full', ...slow]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/no space left to write the records to \/dev\/full\s+free some space/);
    expect(server.seen.length).toBeLessThan(100);
  });

  it.runIf(existsSync('/dev/full')).each([
    ['--result-filename', ['--save-result', '--result-filename', '/dev/full']],
    ['--result-json', ['--result-json', '/dev/full']],
  ])('when the result is saved (%s) costs no figure', async (_, flags) => {
    await using server = await openAiServer();
    const { code, stdout, stderr } = await bench(server, flags);
    expect([code, figure(stdout, 'Successful requests:')]).toEqual([2, '6']);
    expect(stderr).toMatch(/could not be saved to \/dev\/full: no space is left on the disk/);
  });

  const small = join(folder(), 'small');
  mkdirSync(small);
  // A disk of one's own takes the rights to mount it; elsewhere the tests above have to do.
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]).status === 0;
  if (!mounted) return;
  it('half-way leaves whole lines, which can be summarised', async () => {
    try {
      writeFileSync(join(small, 'ballast'), Buffer.alloc(48 * 1024));
      await using server = await openAiServer();
      const path = join(small, 'r.jsonl');
      const { code, stderr } = await bench(server, [
        '--records',
        path,
        '--num-prompts',
        '200',
        '--max-concurrency',
        '4',
      ]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('free some space')]);
      const read = await servetune(['summarize', path]);
      expect(Number(figure(read.stdout, 'Successful requests:'))).toBeGreaterThan(3);
    } finally {
      spawnSync('umount', [small]);
    }
  });
});

it('says where results cannot be written before anything is sent', async () => {
  await using server = await openAiServer();
  const dir = folder();
  writeFileSync(join(dir, 'file'), '');
  for (const [flag, path] of [['--records', join(dir, 'file', 'r.jsonl')], ['--result-dir', join(dir, 'file')]] as const) {
    const { code, stderr } = await bench(server, ['--save-result', flag, path]);
    expect([flag, code]).toEqual([flag, 2]);
    expect(stderr).not.toContain('fault of servetune');
    expect(calls(server, '/v1/completions')).toBe(0);
  }
}); // biome-ignore format: the cases in one line
