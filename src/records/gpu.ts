/** A GPU as found. What identifies the single card (serial number) stays out of records. */
export interface Gpu {
  readonly vendor: 'nvidia' | 'amd' | 'ascend';
  /** Position in the vendor's own list. */
  readonly index: number;
  /** By which a container or an engine is given this card and no other. */
  readonly uuid: string;
  readonly name: string;
  readonly memoryMiB: number;
  /** CUDA compute capability, 9.0 as 90; null of other vendors. */
  readonly computeCapability: number | null;
  readonly driver: string;
  readonly powerLimitW: number | null;
}

/** What a class of GPUs can do, as far as settings depend on it. */
export interface GpuClass {
  /** Multiplies FP8 matrices in hardware. */
  readonly fp8: boolean;
  /** Has kernels of FlashAttention 3: Hopper only. */
  readonly fa3: boolean;
  /** Multiplies NVFP4 matrices in hardware. */
  readonly fp4: boolean;
}

/** By compute capability: FP8 from Ada on, FlashAttention 3 on Hopper, FP4 from Blackwell on. */
export function gpuClass({ vendor, computeCapability }: Pick<Gpu, 'vendor' | 'computeCapability'>): GpuClass {
  if (vendor !== 'nvidia' || computeCapability === null) return { fp8: vendor === 'amd', fa3: false, fp4: false };
  return {
    fp8: computeCapability >= 89,
    fa3: computeCapability >= 90 && computeCapability < 100,
    fp4: computeCapability >= 100,
  };
}
