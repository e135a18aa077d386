import { mean } from '../kit/numbers.ts';
import type { GpuSample, GpuSummary, GpuUse, ThrottleReason } from '../records/telemetry.ts';

/** A stretch of time, on the clock of `kit/clock.ts`. */
export interface Window {
  readonly fromS: number;
  readonly toS: number;
}

/** Samples further apart than this are not joined by a line: nobody knows what was between. */
export const maxGapS = 5;

/**
 * The share of samples above which a reason makes a trial suspect. Heat and a power supply's brake are accidents of
 * the day: any sample counts. A hardware slowdown without a reason of its own is also reported while clocks change, so
 * it has to last. The software power cap is how a GPU under full load runs, and idleness is the load's; both are
 * reported, and neither makes a trial suspect.
 */
export const suspectAbove: Readonly<Partial<Record<ThrottleReason, number>>> = {
  sw_thermal_slowdown: 0,
  hw_thermal_slowdown: 0,
  hw_power_brake_slowdown: 0,
  hw_slowdown: 0.05,
};

/**
 * What the GPUs did in a stretch of time. Energy is the integral of the power over it by the trapezoidal rule, with
 * the power at its edges interpolated from the samples around them; mean power is energy divided by time, or the mean
 * of the samples where the energy is unknown. Everything else is of the samples inside. Null without any sample.
 *
 * @param outputTokens that were generated in that time; null where nothing is generated
 */
export function gpuSummary(
  samples: readonly GpuSample[],
  window: Window,
  outputTokens: number | null,
): GpuSummary | null {
  const indexes = [...new Set(samples.map(({ index }) => index))].sort((a, b) => a - b);
  if (indexes.length === 0) return null;
  const curves = indexes.map((index) => powerCurve(samples.filter((sample) => sample.index === index)));
  const gpus = indexes.map((index, i) => {
    const own = samples.filter((sample) => sample.index === index);
    return useOf(index, own.filter(isIn(window)), curves[i] ?? [], window);
  });
  const energyJ = sumOf(gpus.map((gpu) => gpu.energyJ));
  const throttled = highestShares(gpus);
  return {
    gpus,
    meanPowerW: sumOf(gpus.map((gpu) => gpu.meanPowerW)),
    peakPowerW: peakOfSum(curves, window),
    energyJ,
    energyPerOutputTokenJ: energyJ === null || !outputTokens ? null : energyJ / outputTokens,
    peakMemoryMiB: sumOf(gpus.map((gpu) => gpu.peakMemoryMiB)),
    meanUtilization: mean(known(gpus.map((gpu) => gpu.meanUtilization))),
    throttled,
    suspect: Object.entries(suspectAbove)
      .filter(([reason, limit]) => (throttled?.[reason as ThrottleReason] ?? 0) > limit)
      .map(([reason]) => reason as ThrottleReason),
  };
}

function useOf(index: number, inside: readonly GpuSample[], curve: Curve, window: Window): GpuUse {
  const powers = known(inside.map(({ powerW }) => powerW));
  const energyJ = energyOf(curve, window);
  const durationS = window.toS - window.fromS;
  return {
    index,
    samples: inside.length,
    meanPowerW: energyJ !== null && durationS > 0 ? energyJ / durationS : mean(powers),
    peakPowerW: highest(powers),
    energyJ,
    peakMemoryMiB: highest(known(inside.map(({ memoryUsedMiB }) => memoryUsedMiB))),
    meanUtilization: mean(known(inside.map(({ utilization }) => utilization))),
    meanSmClockMHz: mean(known(inside.map(({ smClockMHz }) => smClockMHz))),
    peakTemperatureC: highest(known(inside.map(({ temperatureC }) => temperatureC))),
    throttled: throttledShares(inside),
  };
}

const isIn =
  ({ fromS, toS }: Window) =>
  ({ atS }: { readonly atS: number }): boolean =>
    atS >= fromS && atS <= toS;

const known = (values: readonly (number | null)[]): readonly number[] => values.filter((v) => v !== null);

const highest = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((a, b) => Math.max(a, b));

/** Null when a part is unknown: a sum of the others would pass for the whole. */
const sumOf = (values: readonly (number | null)[]): number | null =>
  values.some((v) => v === null) ? null : known(values).reduce((a, b) => a + b, 0);

/** Power over time, in the order of time. */
type Curve = readonly { readonly atS: number; readonly powerW: number }[];

const powerCurve = (samples: readonly GpuSample[]): Curve =>
  samples.flatMap(({ atS, powerW }) => (powerW === null ? [] : [{ atS, powerW }])).sort((a, b) => a.atS - b.atS);

/** Power at a moment: on the line between its neighbours; before the first and after the last sample as that one. */
function powerAt(curve: Curve, atS: number): number | null {
  let next = 0;
  for (let end = curve.length; next < end; ) {
    const middle = (next + end) >> 1;
    if ((curve[middle]?.atS ?? 0) < atS) next = middle + 1;
    else end = middle;
  }
  const b = curve[next];
  const a = curve[next - 1];
  if (a && b) {
    if (b.atS - a.atS > maxGapS) return b.atS === atS ? b.powerW : null;
    return a.powerW + ((b.powerW - a.powerW) * (atS - a.atS)) / (b.atS - a.atS);
  }
  const nearest = a ?? b;
  return nearest && Math.abs(nearest.atS - atS) <= maxGapS ? nearest.powerW : null;
}

/** Joules; null where the power is unknown for longer than `maxGapS`. */
function energyOf(curve: Curve, { fromS, toS }: Window): number | null {
  const inner = curve.filter(({ atS }) => atS > fromS && atS < toS);
  const edges = [fromS, toS].map((atS) => ({ atS, powerW: powerAt(curve, atS) }));
  const points = [edges[0], ...inner, edges[1]];
  let energyJ = 0;
  for (const [i, b] of points.entries()) {
    const a = points[i - 1];
    if (!b || b.powerW === null) return null;
    if (!a || a.powerW === null) continue;
    if (b.atS - a.atS > maxGapS) return null;
    energyJ += ((a.powerW + b.powerW) / 2) * (b.atS - a.atS);
  }
  return energyJ;
}

/** Highest sum of all curves: they are straight between samples, so it is at a sample. */
function peakOfSum(curves: readonly Curve[], window: Window): number | null {
  const moments = curves.flatMap((curve) => curve.filter(isIn(window)).map(({ atS }) => atS));
  return highest(known(moments.map((atS) => sumOf(curves.map((curve) => powerAt(curve, atS))))));
}

function throttledShares(samples: readonly GpuSample[]): GpuUse['throttled'] {
  const told = samples.flatMap(({ throttle }) => (throttle === null ? [] : [throttle]));
  if (told.length === 0) return null;
  const counts = new Map<ThrottleReason, number>();
  for (const reason of told.flat()) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return Object.fromEntries([...counts].map(([reason, count]) => [reason, count / told.length]));
}

function highestShares(gpus: readonly GpuUse[]): GpuUse['throttled'] {
  const told = gpus.flatMap(({ throttled }) => (throttled === null ? [] : [throttled]));
  if (told.length === 0) return null;
  const shares: Partial<Record<ThrottleReason, number>> = {};
  for (const [reason, share] of told.flatMap((own) => Object.entries(own)) as [ThrottleReason, number][]) {
    shares[reason] = Math.max(shares[reason] ?? 0, share);
  }
  return shares;
}
