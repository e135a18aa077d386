import { beforeAll, describe, expect, it } from 'vitest';
import type { Gpu } from '../../src/records/gpu.ts';
import { amdSmi, rocmSmi } from '../../src/telemetry/amd.ts';
import { npuSmi } from '../../src/telemetry/ascend.ts';
import { watchGpus } from '../../src/telemetry/gpu-watch.ts';
import { gpusOf, holdersOf } from '../../src/telemetry/gpus.ts';
import { eventually, expectFreshBuild } from '../processes/living.ts';
import { answering, installed, never, recorded } from './stand-ins.ts';

beforeAll(expectFreshBuild);

describe('amd-smi', () => {
  const environment = installed(['amd-smi']);

  it('lists GPUs, by the names that engines are given', async () => {
    const common = { vendor: 'amd', name: 'AMD Instinct MI300X', memoryMiB: 196_592, computeCapability: null };
    expect(await gpusOf(environment, never)).toEqual([
      { ...common, index: 0, uuid: 'GPU-6f1f0a2b3c4d5e6f', driver: '6.16.6', powerLimitW: 750 },
      { ...common, index: 1, uuid: '11ff74a1-0000-1000-8000-000000000002', driver: '6.16.6', powerLimitW: 750 },
    ]);
  });

  it('is sampled by one loop', async () => {
    const gpus = await gpusOf(environment, never);
    await using watch = await watchGpus(gpus, { environment, everyS: 0.1 }, never);
    await eventually(() => watch.samples.length >= 6);
    expect(watch.samples.slice(0, 3)).toMatchObject([
      {
        index: 0,
        memoryUsedMiB: 181_234,
        utilization: 0.97,
        powerW: 743,
        smClockMHz: 1987,
        temperatureC: 71,
        throttle: ['sw_power_cap', 'hw_thermal_slowdown'],
      },
      {
        index: 1,
        memoryUsedMiB: 283,
        utilization: null,
        powerW: 131,
        smClockMHz: null,
        temperatureC: 38,
        throttle: null,
      },
      { index: 0 },
    ]);
  });

  it('tells who holds memory', async () => {
    const [first, second] = (await gpusOf(environment, never)) as [Gpu, Gpu];
    expect(await holdersOf(first, environment, never)).toEqual([
      { pid: 4711, name: 'VLLM::EngineCore', memoryMiB: 181_198 },
      { pid: 4712, name: 'python3.12', memoryMiB: null },
    ]);
    expect(await holdersOf(second, environment, never)).toEqual([]);
  });

  it('is read in its older form, a bare array, and a record that is cut is none', async () => {
    const array = JSON.stringify((JSON.parse(recorded('amd-metric.json')) as { gpu_data: unknown }).gpu_data);
    const meter = await amdSmi.meter(answering({ metric: array }));
    expect(meter.parse(array).map(({ powerW }) => powerW)).toEqual([743, 131]);
    expect(meter.parse(array.slice(0, -5))).toEqual([]);
    expect(meter.parse('nothing')).toEqual([]);
  });
});

describe('rocm-smi', () => {
  const run = answering({ '--showpids': recorded('rocm-pids.json'), '--json': recorded('rocm-smi.json') });

  it('lists and samples GPUs, and tells who holds memory', async () => {
    const [gpu] = (await rocmSmi.list(run)) as [Gpu];
    expect(gpu).toEqual({
      vendor: 'amd',
      index: 0,
      uuid: 'GPU-6f1f0a2b3c4d5e6f',
      name: 'AMD Instinct MI300X',
      memoryMiB: 196_592,
      computeCapability: null,
      driver: '6.10.5',
      powerLimitW: 750,
    });
    const meter = await rocmSmi.meter(run);
    expect(meter.parse(recorded('rocm-smi.json'))).toEqual([
      {
        index: 0,
        memoryUsedMiB: 1024,
        utilization: 0.37,
        powerW: 133,
        smClockMHz: 131,
        temperatureC: 35,
        throttle: null,
      },
    ]);
    expect(await rocmSmi.holders(gpu, run)).toEqual([
      { pid: 4711, name: 'python3', memoryMiB: 2048 },
      { pid: 4712, name: 'sglang::scheduler', memoryMiB: null },
    ]);
  });
});

describe('npu-smi', () => {
  it('lists chips by the index that engines are given, with their holders', async () => {
    const run = answering({ info: recorded('npu-smi-910b.txt') });
    const gpus = await npuSmi.list(run);
    const common = { vendor: 'ascend', name: '910B4', memoryMiB: 32_768, computeCapability: null };
    expect(gpus).toEqual([
      { ...common, index: 0, uuid: '0', driver: '24.1.1', powerLimitW: null },
      { ...common, index: 1, uuid: '1', driver: '24.1.1', powerLimitW: null },
    ]);
    const meter = await npuSmi.meter(run);
    expect(meter.parse(recorded('npu-smi-910b.txt'))).toMatchObject([
      { index: 0, memoryUsedMiB: 26_838, utilization: 0.64, powerW: 88.2, temperatureC: 30 },
      { index: 1, memoryUsedMiB: 2856, utilization: 0, powerW: 87, temperatureC: 31 },
    ]);
    expect(await npuSmi.holders(gpus[0] as Gpu, run)).toEqual([{ pid: 1_333_928, name: '', memoryMiB: 23_709 }]);
    expect(await npuSmi.holders(gpus[1] as Gpu, run)).toEqual([]);
  });

  it('tells the two chips of a card apart, through the installed tool', async () => {
    const environment = installed(['npu-smi']);
    const gpus = await gpusOf(environment, never);
    expect(gpus.map(({ index, name }) => [index, name])).toEqual([
      [0, 'Ascend910'],
      [1, 'Ascend910'],
    ]);
    await using watch = await watchGpus(gpus, { environment, everyS: 0.1 }, never);
    await eventually(() => watch.samples.length >= 2);
    expect(watch.samples.slice(0, 2)).toMatchObject([
      { index: 0, memoryUsedMiB: 3419, utilization: 0.12, powerW: 162.6, temperatureC: 34 },
      { index: 1, memoryUsedMiB: 2874, utilization: 0, powerW: null, temperatureC: 35 },
    ]);
    expect((await holdersOf(gpus[1] as Gpu, environment, never)).map(({ pid }) => pid)).toEqual([3_328_327]);
  });
});
