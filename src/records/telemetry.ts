/** Why a GPU runs below its highest clock, by NVML's names; in the order of the bits of NVIDIA's mask. */
export const throttleReasons = [
  'gpu_idle',
  'applications_clocks_setting',
  'sw_power_cap',
  'hw_slowdown',
  'sync_boost',
  'sw_thermal_slowdown',
  'hw_thermal_slowdown',
  'hw_power_brake_slowdown',
  'display_clocks_setting',
] as const;
export type ThrottleReason = (typeof throttleReasons)[number];

/** What one GPU was doing at one moment. Null is what the GPU or its driver does not tell, never 0. */
export interface GpuReading {
  /** Position in the vendor's own list, as `Gpu.index`. */
  readonly index: number;
  readonly memoryUsedMiB: number | null;
  /** Share of the last sample period in which a kernel ran, 0 to 1: busy, not full. */
  readonly utilization: number | null;
  readonly powerW: number | null;
  readonly smClockMHz: number | null;
  readonly temperatureC: number | null;
  readonly throttle: readonly ThrottleReason[] | null;
}

export interface GpuSample extends GpuReading {
  /** On the clock of `kit/clock.ts`. */
  readonly atS: number;
}

/** One GPU over a stretch of time. Null where no sample told it. */
export interface GpuUse {
  readonly index: number;
  /** Samples inside the stretch. */
  readonly samples: number;
  readonly meanPowerW: number | null;
  readonly peakPowerW: number | null;
  /** Null also where samples are missing for longer than can be bridged. */
  readonly energyJ: number | null;
  readonly peakMemoryMiB: number | null;
  readonly meanUtilization: number | null;
  readonly meanSmClockMHz: number | null;
  readonly peakTemperatureC: number | null;
  /** Share of the samples in which a reason was active, 0 to 1; those that never were are left out. */
  readonly throttled: Readonly<Partial<Record<ThrottleReason, number>>> | null;
}

/** The GPUs of a trial over its load; `telemetry/gpu-summary.ts` has the formulas. */
export interface GpuSummary {
  readonly gpus: readonly GpuUse[];
  /** Of all GPUs together. */
  readonly meanPowerW: number | null;
  /** Highest sum at one moment. */
  readonly peakPowerW: number | null;
  readonly energyJ: number | null;
  readonly energyPerOutputTokenJ: number | null;
  /** Sum of the peaks of the GPUs. */
  readonly peakMemoryMiB: number | null;
  readonly meanUtilization: number | null;
  /** Of the GPU that it concerned most. */
  readonly throttled: Readonly<Partial<Record<ThrottleReason, number>>> | null;
  /** Reasons that make the trial suspect: the hardware protected itself, so another run would give other numbers. */
  readonly suspect: readonly ThrottleReason[];
}

/** A process that has memory of a GPU. */
export interface GpuHolder {
  readonly pid: number;
  /** As the vendor's tool prints it; may be empty. */
  readonly name: string;
  readonly memoryMiB: number | null;
}

/** Memory of one GPU that did not come back after an engine had ended. */
export interface HeldMemory {
  readonly index: number;
  readonly usedMiB: number;
  readonly baselineMiB: number;
  /** Empty where the tool does not tell: in a container without the host's processes. */
  readonly holders: readonly GpuHolder[];
}

/** How waiting for an engine's memory went. */
export interface MemoryWait {
  readonly waitedS: number;
  /** Empty: all of it is free again. */
  readonly held: readonly HeldMemory[];
  /** Why it is not known. */
  readonly problem?: string;
}

/** What an engine told of itself during a load; null where it does not tell. `telemetry/counter-summary.ts` says how. */
export interface CounterSummary {
  /** Answers during the load. */
  readonly scrapes: number;
  /** Attempts that failed: gaps. */
  readonly failedScrapes: number;
  readonly meanRunning: number | null;
  readonly peakRunning: number | null;
  readonly meanWaiting: number | null;
  readonly peakWaiting: number | null;
  /** Share of the KV cache in use, 0 to 1, of the fullest engine rank. */
  readonly peakKvUseShare: number | null;
  /** Requests that lost their KV cache and had to begin again. */
  readonly preemptions: number | null;
  /** Share of looked-up prompt tokens (TensorRT-LLM: blocks) that were found in the prefix cache, 0 to 1. */
  readonly prefixHitRate: number | null;
  /** Share of drafted tokens that were accepted, 0 to 1. */
  readonly draftAcceptance: number | null;
}
