import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GpuSample, ThrottleReason } from '../../src/records/telemetry.ts';
import { gpuSummary, maxGapS } from '../../src/telemetry/gpu-summary.ts';
import { reasonsIn } from '../../src/telemetry/nvidia.ts';
import { recorded } from './stand-ins.ts';

const sample = (atS: number, more: Partial<GpuSample> = {}): GpuSample => ({
  atS,
  index: 0,
  memoryUsedMiB: null,
  utilization: null,
  powerW: null,
  smClockMHz: null,
  temperatureC: null,
  throttle: null,
  ...more,
});
const powers = (values: readonly (number | null)[], index = 0): GpuSample[] =>
  values.map((powerW, atS) => sample(atS, { powerW, index }));

/** The recorded load: seconds since its first line. */
const underLoad = recorded('loop-under-load.csv')
  .trim()
  .split('\n')
  .map((line) => {
    const [time = '', index, power, utilization, memory, clock, reasons] = line.split(', ');
    return sample(Number(time.slice(-6)) - 7.205, {
      index: Number(index),
      powerW: Number(power),
      utilization: Number(utilization) / 100,
      memoryUsedMiB: Number(memory),
      smClockMHz: Number(clock),
      throttle: reasonsIn(reasons),
    });
  });

describe('energy', () => {
  it('is the area under straight lines, cut at the edges of the window', () => {
    // 100 W at 0 s to 300 W at 2 s: 125 W at 0.25 s, 275 W at 1.75 s.
    const summary = gpuSummary(powers([100, 200, 300]), { fromS: 0.25, toS: 1.75 }, 30);
    expect(summary?.energyJ).toBeCloseTo(300);
    expect(summary?.meanPowerW).toBeCloseTo(200);
    expect(summary?.energyPerOutputTokenJ).toBeCloseTo(10);
    expect(summary?.gpus[0]).toMatchObject({ samples: 1, peakPowerW: 200 });
  });

  it('of a recorded load is what adding it up by hand gives', () => {
    const summary = gpuSummary(underLoad, { fromS: 0.858, toS: 2.861 }, null);
    const inside = underLoad.slice(4);
    const byHand = inside.slice(1).reduce((sum, b, i) => {
      const a = inside[i] as GpuSample;
      return sum + (((a.powerW ?? 0) + (b.powerW ?? 0)) / 2) * (b.atS - a.atS);
    }, 0);
    expect(summary?.energyJ).toBeCloseTo(byHand, 6);
    expect(summary).toMatchObject({ peakPowerW: 705.57, peakMemoryMiB: 1011, meanUtilization: 1 });
    expect(summary?.throttled).toEqual({ sw_power_cap: 1 });
    expect(summary?.suspect).toEqual([]);
    expect(summary?.energyPerOutputTokenJ).toBeNull();
  });

  it('lies between lowest and highest power times time, and adds up over a division of the window', () => {
    const load = fc.array(fc.double({ min: 0, max: 1000, noNaN: true }), { minLength: 2, maxLength: 40 });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(load, share, share, share, (values, a, b, c) => {
        const samples = powers(values);
        const [fromS, midS, toS] = [a, b, c].map((x) => x * (values.length - 1)).sort((x, y) => x - y) as [
          number,
          number,
          number,
        ];
        const of = (from: number, to: number): number =>
          gpuSummary(samples, { fromS: from, toS: to }, null)?.energyJ ?? Number.NaN;
        const whole = of(fromS, toS);
        expect(whole).toBeCloseTo(of(fromS, midS) + of(midS, toS), 5);
        expect(whole).toBeGreaterThanOrEqual(Math.min(...values) * (toS - fromS) - 1e-6);
        expect(whole).toBeLessThanOrEqual(Math.max(...values) * (toS - fromS) + 1e-6);
      }),
    );
  });

  it('is unknown where samples are missing for long, not small', () => {
    const gap = [sample(0, { powerW: 100 }), sample(1, { powerW: 100 }), sample(2 + maxGapS, { powerW: 100 })];
    expect(gpuSummary(gap, { fromS: 0, toS: 2 + maxGapS }, 5)).toMatchObject({
      energyJ: null,
      energyPerOutputTokenJ: null,
      meanPowerW: 100,
    });
    expect(gpuSummary(gap, { fromS: 0, toS: 1 }, 5)?.energyJ).toBeCloseTo(100);
    // Before the first and after the last sample the power is taken to be theirs, for a while.
    expect(gpuSummary(gap, { fromS: -2, toS: 1 }, 5)?.energyJ).toBeCloseTo(300);
    expect(gpuSummary(gap, { fromS: -1 - maxGapS, toS: 1 }, 5)?.energyJ).toBeNull();
    expect(gpuSummary(powers([null, null]), { fromS: 0, toS: 1 }, 5)).toMatchObject({
      energyJ: null,
      meanPowerW: null,
      peakPowerW: null,
    });
  });

  it('of several GPUs is their sum, and unknown when one is', () => {
    const both = [...powers([100, 100, 400]), ...powers([300, 200, 50], 1)];
    const summary = gpuSummary(both, { fromS: 0, toS: 2 }, 100);
    expect(summary?.gpus.map(({ index, energyJ }) => [index, energyJ])).toEqual([
      [0, 350],
      [1, 375],
    ]);
    expect(summary).toMatchObject({ energyJ: 725, energyPerOutputTokenJ: 7.25, peakPowerW: 450, meanPowerW: 362.5 });
    const half = [...powers([100, 100, 400]), ...powers([null, null, null], 1)];
    expect(gpuSummary(half, { fromS: 0, toS: 2 }, 100)).toMatchObject({ energyJ: null, peakPowerW: null });
  });
});

describe('what else was sampled', () => {
  it('is of the samples in the window only, and null is left out, not 0', () => {
    const samples = [
      sample(0, { memoryUsedMiB: 9000, utilization: 0, temperatureC: 90 }),
      sample(1, { memoryUsedMiB: 4000, utilization: 1, temperatureC: 50, smClockMHz: 1500 }),
      sample(2, { utilization: null, temperatureC: 60, smClockMHz: null }),
    ];
    expect(gpuSummary(samples, { fromS: 0.5, toS: 2 }, 1)?.gpus).toEqual([
      {
        index: 0,
        samples: 2,
        meanPowerW: null,
        peakPowerW: null,
        energyJ: null,
        peakMemoryMiB: 4000,
        meanUtilization: 1,
        meanSmClockMHz: 1500,
        peakTemperatureC: 60,
        throttled: null,
      },
    ]);
    expect(gpuSummary([], { fromS: 0, toS: 1 }, 1)).toBeNull();
  });
});

describe('throttling', () => {
  const throttled = (reasons: readonly ThrottleReason[], times: number, of: number): GpuSample[] =>
    Array.from({ length: of }, (_, atS) => sample(atS, { throttle: atS < times ? reasons : [] }));
  const suspects = (samples: readonly GpuSample[]): readonly ThrottleReason[] | undefined =>
    gpuSummary(samples, { fromS: 0, toS: 1000 }, 1)?.suspect;

  it.each(['sw_thermal_slowdown', 'hw_thermal_slowdown', 'hw_power_brake_slowdown'] as const)(
    'by %s makes a trial suspect at once',
    (reason) => expect(suspects(throttled([reason], 1, 100))).toEqual([reason]),
  );

  it('by the hardware does when it lasts', () => {
    expect(suspects(throttled(['hw_slowdown'], 5, 100))).toEqual([]);
    expect(suspects(throttled(['hw_slowdown'], 6, 100))).toEqual(['hw_slowdown']);
  });

  it('at the power limit is reported, and makes nothing suspect', () => {
    const summary = gpuSummary(throttled(['sw_power_cap', 'gpu_idle'], 75, 100), { fromS: 0, toS: 1000 }, 1);
    expect(summary?.throttled).toEqual({ sw_power_cap: 0.75, gpu_idle: 0.75 });
    expect(summary?.suspect).toEqual([]);
  });

  it('counts on the GPU that it concerned most', () => {
    const hot = throttled(['hw_thermal_slowdown'], 10, 20).map((s) => ({ ...s, index: 1 }));
    const summary = gpuSummary([...throttled([], 0, 20), ...hot], { fromS: 0, toS: 100 }, 1);
    expect(summary?.throttled).toEqual({ hw_thermal_slowdown: 0.5 });
    expect(summary?.gpus[0]?.throttled).toEqual({});
    expect(summary?.suspect).toEqual(['hw_thermal_slowdown']);
  });
});
