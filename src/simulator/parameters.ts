import type { Hardware } from '../hardware/gpus.ts';
import { type Precision, type PrecisionName, precisions } from '../hardware/precision.ts';
import type { EngineCosts, Rates } from './machine.ts';

/**
 * What cannot be read off a data sheet and is fitted to trials: few numbers, each with a physical meaning. Every one is
 * positive; a fit moves their logarithms.
 */
export interface Belief {
  /** What is believed before anything was measured. */
  readonly value: number;
  /** How far off that may be: standard deviation of its logarithm. */
  readonly spread: number;
  readonly why: string;
}

/** Values by name; those that are absent are as believed. */
export type Parameters = Readonly<Record<string, number>>;

/** GPUs for which FlashAttention 3 and its successors exist: their kernels keep pace in mixed steps and with prompts. */
const hasNewAttention = ({ name }: Hardware): boolean => /^(H100|H200|H20|GH200|B200|B300|GB200)/.test(name);

const speedOf = (precision: PrecisionName): 'fp8' | 'int8' | 'fp4' | 'weight_only' | null => {
  if (precision === 'bf16') return null;
  const { format } = precisions[precision] as Precision;
  return format === 'bf16' ? 'weight_only' : format;
};

/** Weights of fewer bits than what they are multiplied in, on a GPU that cannot multiply their own format. */
function formatOn(hardware: Hardware, precision: PrecisionName): ReturnType<typeof speedOf> {
  const speed = speedOf(precision);
  if (speed === null || speed === 'weight_only') return speed;
  return hardware.nominal.matrixFlopPerS[speed] === null ? 'weight_only' : speed;
}

/** Every parameter that a configuration depends on, by name. */
export function beliefsOf(
  engine: string,
  hardware: Hardware,
  precision: PrecisionName,
): Readonly<Record<string, Belief>> {
  const gpu = hardware.name;
  const format = formatOn(hardware, precision);
  const bf16 = hardware.nominal.matrixFlopPerS.bf16 ?? 0;
  const beliefs: Record<string, Belief> = {
    [`${gpu} matrix FLOP/s`]: { value: 0.65 * bf16, spread: 0.4, why: '65 % of the data sheet' },
    [`${gpu} memory bytes/s`]: {
      value: 0.8 * hardware.nominal.memoryBytesPerS,
      spread: 0.3,
      why: '80 % of the data sheet',
    },
    [`${gpu} attention over matrix rate`]: hasNewAttention(hardware)
      ? { value: 1, spread: 0.25, why: 'FlashAttention 3 (Shah et al. 2024): about the rate of large matrix products' }
      : { value: 0.75, spread: 0.25, why: 'FlashAttention 2 (Dao 2023): three quarters of that rate' },
    [`${engine} seconds a step`]: {
      value: 5e-3,
      spread: 0.7,
      why: 'scheduling, sampling and launching a step: milliseconds',
    },
    [`${engine} seconds a request`]: {
      value: 4e-3,
      spread: 1.2,
      why: 'template, tokenization and answer: milliseconds',
    },
  };
  if (engine === 'vllm' && !hasNewAttention(hardware)) {
    beliefs[`${gpu} mixed attention slowdown`] = {
      value: 2,
      spread: 0.5,
      why: 'one FlashAttention 2 kernel for prompts and answers: heads that share keys read them one by one',
    };
  }
  if (format === 'weight_only') {
    beliefs[`${gpu} weight_only speedup`] = { value: 0.8, spread: 0.15, why: 'weights are unpacked in each product' };
  } else if (format !== null) {
    beliefs[`${gpu} ${format} speedup`] = {
      value: 1.6,
      spread: 0.2,
      why: 'nominally 2; scales, casts and power take their part',
    };
  }
  return beliefs;
}

/** Seconds for each layer of a pass whose kernels are launched one by one; an estimate, about twenty launches. */
const launchSPerLayer = 2e-4;

/** Rates and costs of a configuration, from fitted parameters where there are some. */
export function machineOf(
  engine: string,
  hardware: Hardware,
  precision: PrecisionName,
  parameters: Parameters,
  { layers, cudaGraphs }: { readonly layers: number; readonly cudaGraphs: boolean },
): { readonly rates: Rates; readonly costs: EngineCosts } {
  const beliefs = beliefsOf(engine, hardware, precision);
  const gpu = hardware.name;
  const value = (name: string): number => parameters[name] ?? beliefs[name]?.value ?? 1;
  const matrix = value(`${gpu} matrix FLOP/s`);
  const bytesPerS = value(`${gpu} memory bytes/s`);
  const format = formatOn(hardware, precision);
  return {
    rates: {
      layerFlopPerS: matrix * (format === null ? 1 : value(`${gpu} ${format} speedup`)),
      headFlopPerS: matrix,
      weightBytesPerS: bytesPerS,
      prefillFlopPerS: matrix * value(`${gpu} attention over matrix rate`),
      kvBytesPerS: bytesPerS,
      mixedKvBytesPerS: bytesPerS / (engine === 'vllm' ? value(`${gpu} mixed attention slowdown`) : 1),
    },
    costs: {
      stepS: value(`${engine} seconds a step`),
      requestS: value(`${engine} seconds a request`),
      launchS: cudaGraphs ? 0 : launchSPerLayer * layers,
    },
  };
}
