import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleepMs } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { now } from '../../src/kit/clock.ts';
import { type Supervised, supervise } from '../../src/processes/supervisor.ts';
import { partClock, type StartWatchOptions, watchStart } from '../../src/study/start-watch.ts';
import { expectFreshBuild } from '../processes/living.ts';
import { emptyFolder } from './stand-in.ts';

beforeAll(expectFreshBuild);

const parts: StartWatchOptions['parts'] = [
  { part: 'loading', pattern: /Load weight begin/ },
  { part: 'capturing', pattern: /Capture/ },
  { part: 'compiling', pattern: /Compiling/ },
];

describe('the parts of a start', () => {
  it('begin with their lines, may come again, and add up to the whole', () => {
    const clock = partClock(parts, 100);
    clock.line('nothing of interest', 101);
    clock.line('Load weight begin', 102);
    clock.line('Capture cuda graph begin', 105);
    clock.line('Capture cuda graph bs 8', 106);
    clock.line('Compiling', 109);
    clock.line('Capture piecewise', 110);
    expect(clock.current()).toBe('capturing');
    clock.begin('first token', 112.5);
    expect(clock.times(113)).toEqual({ starting: 2, loading: 3, capturing: 6.5, compiling: 1, 'first token': 0.5 });
  });

  it('are all of it where the engine does not tell', () => {
    expect(partClock([], 5).times(7.25)).toEqual({ starting: 2.25 });
  });
});

describe('a watch over a start', () => {
  const running: Supervised[] = [];
  afterEach(async () => {
    for (const supervised of running.splice(0)) await supervised.stop(0.1);
  });

  /** A program in a language of one line, and a watch over it. */
  async function watching(code: string, more: Partial<StartWatchOptions> = {}) {
    const logPath = join(emptyFolder(), 'engine.log');
    writeFileSync(logPath, 'Compiling, in an earlier try\n');
    const supervised = await supervise({
      argv: [process.execPath, '-e', code],
      env: { PATH: process.env.PATH ?? '' },
      logPath,
    });
    running.push(supervised);
    const logFromByte = 'Compiling, in an earlier try\n'.length;
    const watch = watchStart({
      root: supervised,
      beganS: now(),
      logPath,
      logFromByte,
      parts,
      stallTimeoutS: 1,
      ...more,
    });
    const stall = await Promise.race([watch.stalled, sleepMs(2800).then(() => undefined)]);
    return { stall, seen: watch.end(), logPath };
  }

  it('sees that nothing happens, and in which part', async () => {
    const { stall, seen } = await watching(`console.log('Load weight begin'); setInterval(() => {}, 1e6)`);
    expect(stall).toMatchObject({ part: 'loading', lastLine: 'Load weight begin' });
    expect(stall?.quietS).toBeGreaterThanOrEqual(1);
    expect(seen.parts.loading).toBeGreaterThan(0.9);
    expect(seen.parts).not.toHaveProperty('compiling');
  });

  it.each([
    ['computes', 'for (;;) Math.sqrt(2)'],
    ['prints', `setInterval(() => console.log('progress'), 300)`],
    ['writes a progress bar that has no end of a line', `setInterval(() => process.stdout.write('\\r10%'), 300)`],
    ['takes more and more memory', 'const kept = []; setInterval(() => kept.push(Buffer.alloc(4 << 20, 1)), 300)'],
    ['starts processes', `setInterval(() => require('node:child_process').spawn('sleep', ['0.2']), 300)`],
  ])('sees work in one that %s', async (_, code) => {
    expect((await watching(code)).stall).toBeUndefined();
  });

  it('takes no answer to our own questions for work', async () => {
    const line = 'INFO:     127.0.0.1:41234 - "GET /health HTTP/1.1" 503 Service Unavailable';
    const { stall } = await watching(`setInterval(() => console.log(${JSON.stringify(line)}), 300)`);
    expect(stall).toMatchObject({ part: 'starting', lastLine: '' });
  });

  it('judges nothing where it cannot see the processes', async () => {
    expect((await watching('setInterval(() => {}, 1e6)', { stallTimeoutS: null })).stall).toBeUndefined();
  });

  it('tells of the processes as they come', async () => {
    const seen: number[] = [];
    await watching(`require('node:child_process').spawn('sleep', ['100']); setInterval(() => {}, 1e6)`, {
      onMembers: (members) => seen.push(members.length),
    });
    expect(Math.max(...seen)).toBe(2);
  });

  it('counts from the moment that it is healthy for the first token, whatever the log says', async () => {
    const logPath = join(emptyFolder(), 'engine.log');
    writeFileSync(logPath, '');
    const watch = watchStart({
      root: { pid: process.pid, startTime: 'nobody' },
      beganS: now(),
      logPath,
      logFromByte: 0,
      parts,
      stallTimeoutS: null,
    });
    appendFileSync(logPath, 'Load weight begin\n');
    watch.healthy();
    appendFileSync(logPath, 'Compiling\n');
    await sleepMs(300);
    watch.generates(['ignore_eos']);
    const { parts: times, refusedFields } = watch.end();
    expect(Object.keys(times).sort()).toEqual(['first token', 'loading', 'starting']);
    expect(times['first token']).toBeGreaterThan(0.25);
    expect(refusedFields).toEqual(['ignore_eos']);
  });
});
