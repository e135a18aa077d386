import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Gpu } from '../../src/records/gpu.ts';
import { throttleReasons } from '../../src/records/telemetry.ts';
import { watchGpus } from '../../src/telemetry/gpu-watch.ts';
import { findGpus, gpusOf, holdersOf } from '../../src/telemetry/gpus.ts';
import { describeGpu, describeMachine } from '../../src/telemetry/machine.ts';
import { identityFields, readingFields, reasonsIn } from '../../src/telemetry/nvidia.ts';
import { eventually, expectFreshBuild, living } from '../processes/living.ts';
import { installed, never, recorded } from './stand-ins.ts';

const dir = mkdtempSync(join(tmpdir(), 'servetune-nvidia-'));
const uuid = 'GPU-00000000-0000-0000-0000-000000000000';
const h200: Gpu = {
  vendor: 'nvidia',
  index: 0,
  uuid,
  name: 'NVIDIA H200',
  memoryMiB: 143_771,
  computeCapability: 90,
  driver: '580.159.04',
  powerLimitW: 700,
};
let files = 0;
/** Variables that make the stand-in note the number of each of its processes. */
const noting = (): { PIDS: string } => ({ PIDS: join(dir, `pids-${++files}`) });
const notedIn = ({ PIDS }: { PIDS: string }): number[] => readFileSync(PIDS, 'utf8').trim().split('\n').map(Number);

beforeAll(expectFreshBuild);
afterAll(() => rmSync(dir, { recursive: true }));

describe('the names that are asked for', () => {
  it('are those of the real tool', () => {
    const names = new Set([...recorded('query-gpu-names.txt').matchAll(/"([^"]+)"/g)].map(([, name]) => name));
    const asked = [...Object.values(identityFields), ...Object.values(readingFields)].flat();
    expect(asked.filter((name) => !names.has(name))).toEqual([]);
  });

  it('of reasons are those of the real tool, bit for bit', () => {
    const real = [...recorded('clocks-event-reasons.xml').matchAll(/<clocks_event_reason_(\w+)>/g)].map((m) => m[1]);
    expect(new Set(throttleReasons)).toEqual(new Set(real));
    expect(reasonsIn('0x0000000000000000')).toEqual([]);
    expect(reasonsIn('0x0000000000000001')).toEqual(['gpu_idle']);
    expect(reasonsIn('0x000000000000004c')).toEqual(['sw_power_cap', 'hw_slowdown', 'hw_thermal_slowdown']);
    expect(reasonsIn('0x00000000000001a0')).toEqual([
      'sw_thermal_slowdown',
      'hw_power_brake_slowdown',
      'display_clocks_setting',
    ]);
    expect([reasonsIn('[N/A]'), reasonsIn('Not Active'), reasonsIn(undefined)]).toEqual([null, null, null]);
  });
});

describe('finding GPUs', () => {
  it('reads what identifies them', async () => {
    expect(await findGpus(installed(['nvidia-smi']), never)).toEqual({ gpus: [h200] });
  });

  it('does without fields that an older driver does not know', async () => {
    const environment = installed(['nvidia-smi'], { UNKNOWN: 'compute_cap,power.limit', GPUS: '2' });
    const { gpus } = await findGpus(environment, never);
    expect(gpus).toEqual([0, 1].map((index) => ({ ...h200, index, computeCapability: null, powerLimitW: null })));
  });

  it('does not take what a GPU does not tell for 0', async () => {
    const environment = installed(['nvidia-smi'], { NA: 'memory.total,power.limit,compute_cap' });
    const [gpu] = await gpusOf(environment, never);
    expect(gpu).toMatchObject({ powerLimitW: null, computeCapability: null });
    expect(gpu?.memoryMiB).toBeGreaterThan(100);
  });

  it('says why there are none, in the words of the tool', async () => {
    const broken = await findGpus(installed(['nvidia-smi'], { BROKEN: '1' }), never);
    expect(broken.gpus).toEqual([]);
    expect(broken.problem).toMatchObject({ place: 'nvidia-smi', hint: expect.stringContaining('driver') });
    expect(broken.problem?.message).toMatch(/^NVIDIA-SMI has failed/);
    const empty = await findGpus(installed(['nvidia-smi'], { EMPTY: '1' }), never);
    expect(empty).toMatchObject({ gpus: [], problem: { message: 'No devices were found' } });
    expect(await findGpus(installed([]), never)).toEqual({ gpus: [] });
  });

  it('goes on to the next vendor', async () => {
    const environment = installed(['nvidia-smi', 'amd-smi'], { EMPTY: '1' });
    expect((await gpusOf(environment, never)).map(({ vendor }) => vendor)).toEqual(['amd', 'amd']);
  });

  it('ends with the signal, and leaves nothing of a tool that hangs', async () => {
    const pids = noting();
    const stop = new AbortController();
    const finding = findGpus(installed(['nvidia-smi'], { HANG: '1', ...pids }), stop.signal);
    const started = await eventually(() => {
      try {
        return notedIn(pids);
      } catch {
        return null;
      }
    });
    stop.abort(new Error('enough'));
    await expect(finding).rejects.toThrow('enough');
    expect(living(started)).toEqual([]);
  });

  it('describes them in a machine', async () => {
    const machine = describeMachine(await gpusOf(installed(['nvidia-smi']), never));
    expect(machine.gpus).toEqual(['NVIDIA H200, 143771 MiB, driver 580.159.04, 700 W']);
    expect(machine.cores).toBeGreaterThan(0);
    expect(describeGpu({ ...h200, driver: '', powerLimitW: null })).toBe('NVIDIA H200, 143771 MiB');
  });
});

describe('watching GPUs', () => {
  it('samples each GPU with one process, which is gone afterwards', async () => {
    const pids = noting();
    const environment = installed(['nvidia-smi'], { GPUS: '2', ...pids });
    const watch = await watchGpus([h200, { ...h200, index: 1 }], { environment, everyS: 0.1 }, never);
    await eventually(() => watch.samples.length >= 16);
    await watch.stop();
    await watch.stop();
    expect(watch.problem()).toBeUndefined();
    // One process asked what the driver knows, one sampled.
    expect(notedIn(pids)).toHaveLength(2);
    expect(living(notedIn(pids))).toEqual([]);
    const first = watch.samples.filter(({ index }) => index === 0);
    expect(watch.samples.length - first.length).toBeGreaterThanOrEqual(7);
    expect(first.map(({ powerW }) => powerW).slice(0, 5)).toEqual([81.05, 81.06, 82.23, 106.8, 245.98]);
    expect(first[4]).toMatchObject({
      memoryUsedMiB: 1011,
      utilization: 1,
      smClockMHz: 1515,
      temperatureC: 39,
      throttle: ['sw_power_cap'],
    });
    const times = watch.samples.map(({ atS }) => atS);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it('samples only the GPUs that it was given', async () => {
    const environment = installed(['nvidia-smi'], { GPUS: '3' });
    await using watch = await watchGpus([{ ...h200, index: 1 }], { environment, everyS: 0.1 }, never);
    await eventually(() => watch.samples.length >= 2);
    expect(new Set(watch.samples.map(({ index }) => index))).toEqual(new Set([1]));
  });

  it('knows the old name of a field, does without another, and takes nothing for 0', async () => {
    const environment = installed(['nvidia-smi'], {
      UNKNOWN: 'clocks_event_reasons.active,temperature.gpu',
      NA: 'power.draw,utilization.gpu',
    });
    await using watch = await watchGpus([h200], { environment, everyS: 0.1 }, never);
    await eventually(() => watch.samples.length >= 1);
    expect(watch.samples[0]).toMatchObject({
      memoryUsedMiB: 0,
      powerW: null,
      utilization: null,
      temperatureC: null,
      smClockMHz: 345,
      throttle: ['gpu_idle'],
    });
  });

  it('drops a line that was cut when the tool was killed, and says that it ended', async () => {
    const environment = installed(['nvidia-smi'], { CUT_AFTER: '3' });
    await using watch = await watchGpus([h200], { environment, everyS: 0.1 }, never);
    await eventually(() => watch.problem());
    expect(watch.problem()).toMatchObject({ place: 'nvidia-smi', message: 'ended by SIGKILL' });
    expect(watch.samples.map(({ powerW }) => powerW)).toEqual([81.05, 81.06, 82.23]);
  });

  it('says when the tool falls silent', async () => {
    const environment = installed(['nvidia-smi'], { HANG_AFTER: '2' });
    await using watch = await watchGpus([h200], { environment, everyS: 0.1, silenceS: 1 }, never);
    await eventually(() => watch.samples.length === 2);
    expect(watch.problem()).toBeUndefined();
    await eventually(() => watch.problem());
    expect(watch.problem()?.message).toBe('no sample for 1 s');
    await watch.stop();
    expect(watch.problem()?.message).toBe('no sample for 1 s');
  });

  it('is no error where there is nothing to watch, or no way to', async () => {
    await using none = await watchGpus([], { environment: installed([]) }, never);
    expect([none.samples, none.problem()]).toEqual([[], undefined]);
    await using broken = await watchGpus([h200], { environment: installed(['nvidia-smi'], { BROKEN: '1' }) }, never);
    expect(broken.problem()?.message).toMatch(/NVIDIA-SMI has failed/);
    await using missing = await watchGpus([h200], { environment: installed([]) }, never);
    expect(missing.problem()?.message).toMatch(/not installed/);
  });

  it('ends with the signal', async () => {
    const pids = noting();
    const stop = new AbortController();
    const environment = installed(['nvidia-smi'], pids);
    const watch = await watchGpus([h200], { environment, everyS: 0.1 }, stop.signal);
    await eventually(() => watch.samples.length > 0);
    stop.abort();
    await eventually(() => living(notedIn(pids)).length === 0);
    await watch.stop();
  });
});

describe('who holds memory', () => {
  it('is told by GPU', async () => {
    const environment = installed(['nvidia-smi'], { HOLDERS: '1' });
    expect(await holdersOf(h200, environment, never)).toEqual([{ pid: 422, name: 'python3', memoryMiB: 1002 }]);
    expect(await holdersOf({ ...h200, uuid: 'GPU-1' }, environment, never)).toEqual([]);
    expect(await holdersOf(h200, installed(['nvidia-smi']), never)).toEqual([]);
  });
});
