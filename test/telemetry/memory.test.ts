import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Gpu } from '../../src/records/gpu.ts';
import { gpusOf } from '../../src/telemetry/gpus.ts';
import { memoryOf, toleranceMiB, waitForMemory } from '../../src/telemetry/memory.ts';
import { expectFreshBuild } from '../processes/living.ts';
import { installed, never } from './stand-ins.ts';

const dir = mkdtempSync(join(tmpdir(), 'servetune-memory-'));
const MEMORY = join(dir, 'used');
const uses = (mib: number | string): void => writeFileSync(MEMORY, `${mib}\n`);

beforeAll(expectFreshBuild);
afterAll(() => rmSync(dir, { recursive: true }));

it('a hundredth of the memory may differ, or 512 MiB', () => {
  expect(toleranceMiB({ memoryMiB: 143_771 })).toBeCloseTo(1437.71);
  expect(toleranceMiB({ memoryMiB: 24_576 })).toBe(512);
});

it('waits until memory is back where it was', async () => {
  const environment = installed(['nvidia-smi'], { MEMORY });
  uses(300);
  const gpus = await gpusOf(environment, never);
  const baseline = await memoryOf(gpus, environment, never);
  expect(baseline).toEqual(new Map([[0, 300]]));
  uses(1737);
  expect(await waitForMemory(gpus, baseline, environment, never)).toMatchObject({ held: [] });
  uses(120_000);
  setTimeout(() => uses(400), 700);
  const waited = await waitForMemory(gpus, baseline, environment, never, { everyS: 0.1, limitS: 20 });
  expect(waited.held).toEqual([]);
  expect(waited.problem).toBeUndefined();
  expect(waited.waitedS).toBeGreaterThan(0.6);
  expect(waited.waitedS).toBeLessThan(10);
});

it('says who holds memory that does not come back', async () => {
  const environment = installed(['nvidia-smi'], { MEMORY, HOLDERS: '1' });
  uses(1738);
  const gpus = await gpusOf(environment, never);
  const waited = await waitForMemory(gpus, new Map([[0, 300]]), environment, never, { everyS: 0.1, limitS: 0.5 });
  expect(waited.waitedS).toBeGreaterThanOrEqual(0.5);
  const holders = [{ pid: 422, name: 'python3', memoryMiB: 1002 }];
  expect(waited.held).toEqual([{ index: 0, usedMiB: 1738, baselineMiB: 300, holders }]);
});

it('waits for no GPU that does not tell its memory, and for none where there is none', async () => {
  const environment = installed(['nvidia-smi'], { NA: 'memory.used' });
  const gpus = await gpusOf(environment, never);
  expect(await memoryOf(gpus, environment, never)).toEqual(new Map());
  expect(await waitForMemory(gpus, new Map(), environment, never)).toMatchObject({ held: [] });
  expect(await waitForMemory([], new Map(), installed([]), never)).toMatchObject({ held: [] });
});

it('says when it cannot be told, and ends with the signal', async () => {
  const gpu = { vendor: 'nvidia', index: 0, uuid: 'GPU-0', memoryMiB: 80_000 } as Gpu;
  const baseline = new Map([[0, 0]]);
  const broken = installed(['nvidia-smi'], { BROKEN: '1' });
  const waited = await waitForMemory([gpu], baseline, broken, never, { everyS: 0.1, limitS: 0.3 });
  expect(waited).toMatchObject({ held: [], problem: expect.stringContaining('NVIDIA-SMI has failed') });
  const reason = new Error('enough');
  const waiting = waitForMemory([gpu], baseline, broken, AbortSignal.abort(reason));
  await expect(waiting).rejects.toBe(reason);
});
