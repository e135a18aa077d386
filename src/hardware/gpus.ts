import { datasheets } from './datasheets.ts';
import type { MatrixFormat, Precision } from './precision.ts';

/** Where a figure comes from. */
export interface Source {
  readonly title: string;
  /** Null of what was measured. */
  readonly url: string | null;
}

/** What a processor can do at most, or was seen to do. */
export interface Rates {
  /** Reading memory. */
  readonly memoryBytesPerS: number;
  /** Dense matrices (no structured sparsity); null in a format that it does not multiply. */
  readonly matrixFlopPerS: Readonly<Record<MatrixFormat, number | null>>;
}

/** How GPUs of one host reach each other. */
export interface Interconnect {
  readonly kind: 'nvlink' | 'pcie' | 'infinity-fabric';
  /** From one GPU to its peers, one way. */
  readonly bytesPerS: number;
}

/** What somebody measured on one card. */
export interface MeasuredRates extends Rates {
  /** Causal attention of prompts; null where it was not measured. */
  readonly prefillAttentionFlopPerS: number | null;
  /** Keys and values that attention of single tokens reads; null where it was not measured. */
  readonly decodeAttentionBytesPerS: number | null;
  /** Under load for seconds at the power cap, or a burst of milliseconds. */
  readonly duration: 'sustained' | 'burst';
  readonly origin: string;
}

/** A GPU, or whatever else serves, as data. */
export interface Hardware {
  /** As people write it: `H100 SXM`. */
  readonly name: string;
  /** What the driver gives to programs; less than is printed on the card. */
  readonly memoryBytes: number;
  readonly nominal: Rates;
  /** Null where the cards of a host share nothing but the host. */
  readonly interconnect: Interconnect | null;
  /** The highest power that it is sold with; null where that is unknown. */
  readonly powerCapW: number | null;
  /** Of the nominal figures. */
  readonly source: Source;
  /** Of the memory that programs get. */
  readonly memorySource: Source;
  readonly measured: readonly MeasuredRates[];
}

/** Every GPU with figures of its own. */
export const gpus: readonly Hardware[] = datasheets.map(({ names: _, ...hardware }) => hardware);

/**
 * The GPU that is called so: by `nvidia-smi` or `amd-smi` (`NVIDIA H100 80GB HBM3`) or for short (`h100`, `H100-SXM`; a
 * bare `a100` is the SXM card of 80 GB). Null where no figures are known, also of laptop and export editions.
 */
export function gpuNamed(name: string): Hardware | null {
  const words = name
    .toLowerCase()
    .replace(/\b(nvidia|amd|tesla|geforce|instinct)\b|\((r|tm)\)/g, ' ')
    .replace(/[\s_/-]+/g, ' ')
    .trim();
  const index = datasheets.findIndex(({ names }) => names.test(words));
  return gpus[index] ?? null;
}

/** A CPU: nothing is known of it but what was measured. `memoryBytes` is what may be used for the model. */
export function cpuMeasured(memoryBytes: number, rates: Rates, origin: string): Hardware {
  const source = { title: origin, url: null };
  const measured = { prefillAttentionFlopPerS: null, decodeAttentionBytesPerS: null, duration: 'sustained' as const };
  return {
    name: 'CPU',
    memoryBytes,
    nominal: rates,
    interconnect: null,
    powerCapW: null,
    source,
    memorySource: source,
    measured: [{ ...rates, ...measured, origin }],
  };
}

/**
 * At which rate a processor multiplies the layers' matrices of a precision, FLOP/s: in the precision's format where it
 * can, else in bf16 after the weights have been widened.
 */
export function matrixFlopPerS({ matrixFlopPerS: rates }: Rates, { format, needs }: Precision): number {
  const possible = needs === undefined || rates[needs] !== null;
  return (possible ? rates[format] : null) ?? rates.bf16 ?? 0;
}
