import { setTimeout as sleepMs } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { watchLoopDelay } from '../../src/kit/loop-delay.ts';

function compute(durationMs: number): void {
  const until = performance.now() + durationMs;
  while (performance.now() < until);
}

it('sees a blocked loop, and that it was blocked by this process', async () => {
  const watch = watchLoopDelay();
  for (let i = 0; i < 5; i++) {
    await sleepMs(30);
    compute(80);
  }
  const { maxS, p99S, ownP99S, busyShare, cpuShare } = watch.stop();
  expect(maxS).toBeGreaterThan(0.06);
  expect(p99S).toBeGreaterThan(0.05);
  expect(ownP99S).toBeGreaterThan(0.005);
  expect(ownP99S).toBeLessThanOrEqual(maxS);
  expect(busyShare).toBeGreaterThan(0.4);
  expect(cpuShare).toBeGreaterThan(0);
});

it('lays nothing to a process that waits', async () => {
  const watch = watchLoopDelay();
  await sleepMs(50);
  // Stands still without computing, as a process that is not given a core does.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await sleepMs(50);
  const { maxS, p99S, ownP99S } = watch.stop();
  expect(maxS).toBeGreaterThan(0.15);
  expect(p99S).toBeGreaterThan(0.1);
  expect(ownP99S).toBeLessThan(maxS / 2);
});

it('counts a long pause as all the moments that it spoiled', async () => {
  const watch = watchLoopDelay(0.01);
  await sleepMs(400);
  compute(300);
  await sleepMs(20);
  // One late tick among forty; but almost half of the time, an event would have been noticed late.
  expect(watch.stop().p99S).toBeGreaterThan(0.2);
});

it('has an answer before the first tick', () => {
  expect(watchLoopDelay().stop()).toMatchObject({ p99S: 0, maxS: 0, ownP99S: 0 });
});
