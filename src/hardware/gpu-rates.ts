import { ascending, median } from '../kit/numbers.ts';
import { layerMatrices } from './rates-files.ts';

/** The rates that one GPU is compared by. */
export const rateNames = [
  'bf16FlopPerS',
  'fp8FlopPerS',
  'readBytesPerS',
  'prefillAttentionFlopPerS',
  'decodeAttentionBytesPerS',
] as const;
export type RateName = (typeof rateNames)[number];

/** What a micro-benchmark found on one GPU. A rate is null where it was not measured, or not in a usable way. */
export interface GpuRates extends Readonly<Record<RateName, number | null>> {
  /** As its driver names it; null where the file does not say. */
  readonly device: string | null;
  readonly memoryBytes: number | null;
  readonly powerCapW: number | null;
  /** Seconds for one more kernel of next to no work, launched one by one. */
  readonly kernelLaunchS: number | null;
  /** The same inside a CUDA graph. */
  readonly graphKernelS: number | null;
  /** Prompt tokens a second through all layers (attention in bf16, no LM head), as measured in one piece. */
  readonly passTokensPerS: { readonly bf16: number | null; readonly fp8: number | null };
  /** Whether every rate that is there was reached for seconds under the power cap. */
  readonly sustained: boolean;
  /** Rates of which only a burst is known: a serving engine will not reach them for long. */
  readonly burstOnly: readonly RateName[];
  /** Whether the power cap held the clocks down during matrix products; null where nobody looked. */
  readonly powerCapped: boolean | null;
  readonly notes: readonly string[];
}

/** Tokens a step from which the matrix rate no longer depends on how often weights are read. */
export const manyTokens = 1024;
/** Tokens of a prompt from which its attention keeps the GPU busy. */
export const longPrompt = 2000;
/** Keys and values that no cache of a GPU holds. */
export const beyondCaches = 2 ** 28;
export const tera = 1e12;

/** Median of values in any order; null of none. */
export const medianOf = (values: readonly number[]): number | null => median(ascending(values));

/** One matrix product of m tokens: x[m, k] times w[k, n]. */
export interface Product {
  readonly what: string;
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly flopPerS: number;
}

/**
 * FLOP/s of a layer's matrices: at each number of tokens all operations over all time (sum of 2mkn over sum of
 * 2mkn / rate), then the median over the numbers from `manyTokens` on, or else the largest. A number of tokens at which
 * one of the four is missing tells nothing of a layer.
 */
export function layerFlopPerS(products: readonly Product[]): number | null {
  const rates = [...new Set(products.map(({ m }) => m))].flatMap((m) => {
    const four = layerMatrices.flatMap((name) => products.find((p) => p.m === m && p.what === name) ?? []);
    if (four.length < layerMatrices.length) return [];
    const flop = four.reduce((sum, p) => sum + 2 * p.m * p.k * p.n, 0);
    return [{ m, rate: flop / four.reduce((sum, p) => sum + (2 * p.m * p.k * p.n) / p.flopPerS, 0) }];
  });
  const largest = Math.max(...rates.map(({ m }) => m));
  const from = Math.min(manyTokens, largest);
  return medianOf(rates.filter(({ m }) => m >= from).map(({ rate }) => rate));
}

/** Both rates of one measurement, work per second. */
export interface Pair {
  readonly rate: number | null;
  readonly burst: number | null;
  readonly sustained: boolean;
}

/** The rates of a result, and which of them are bursts. */
export function ratesOf(pairs: Readonly<Record<RateName, Pair>>) {
  const rates = Object.fromEntries(rateNames.map((name) => [name, pairs[name].rate])) as Record<
    RateName,
    number | null
  >;
  const burstOnly = rateNames.filter((name) => pairs[name].rate !== null && !pairs[name].sustained);
  const some = rateNames.some((name) => pairs[name].rate !== null);
  return { ...rates, burstOnly, sustained: some && burstOnly.length === 0 };
}

/** In 10¹², with 4 digits. */
export const inTera = (value: number): string => (value / tera).toPrecision(4);

/** How much more than the sustained rate a burst was. */
const gap = (name: RateName, sustained: number, burst: number): string =>
  `${name}: ${inTera(sustained)}e12 sustained, ${inTera(burst)}e12 in a burst (${((burst / sustained - 1) * 100).toFixed(1)} % more)`;

/** A sentence for each sustained rate that a burst exceeded. */
export const burstNotes = (pairs: Readonly<Record<RateName, Pair>>): readonly string[] =>
  rateNames.flatMap((name) => {
    const { rate, burst, sustained } = pairs[name];
    return sustained && rate !== null && burst !== null && burst > rate ? [gap(name, rate, burst)] : [];
  });
