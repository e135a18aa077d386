import type { Hardware } from '../hardware/gpus.ts';
import {
  attentionFlopPerPair,
  type CompleteShape,
  headFlopPerPosition,
  kvBytesPerToken,
  kvLayers,
  parametersOf,
  weightBytesOf,
} from '../hardware/model.ts';
import { type KvDtype, type Precision, precisions } from '../hardware/precision.ts';
import type { ModelWork } from './machine.ts';

/** How long one all-reduce of a few bytes takes. An estimate of custom all-reduce kernels over NVLink, not measured here. */
const allReduceS = 12e-6;

/**
 * What a pass costs on one GPU of a tensor-parallel group. Each GPU has its share of the matrices, heads and experts; after
 * attention and after the MLP of every layer the group adds up its results: a ring moves `2 (n - 1) / n` times the
 * activations, in 16 bits.
 */
export function workOf(
  shape: CompleteShape,
  {
    precision,
    kvDtype,
    tensorParallel,
    hardware,
  }: {
    readonly precision: keyof typeof precisions;
    readonly kvDtype: KvDtype;
    readonly tensorParallel: number;
    readonly hardware: Hardware;
  },
): ModelWork {
  const n = tensorParallel;
  const parameters = parametersOf(shape);
  const bytes = weightBytesOf(shape, precisions[precision] as Precision);
  const layers = kvLayers(shape);
  const windowed = shape.slidingWindow?.layers ?? 0;
  const pairFlop = attentionFlopPerPair(shape) / n;
  const kvBytes = layers === 0 ? 0 : kvBytesPerToken(shape, kvDtype, n) / layers;
  const always = bytes.activeLayers * (1 - share(parameters.activeExperts, parameters.activeLayers));
  const linkBytesPerS = hardware.interconnect?.bytesPerS ?? 32e9;
  const reduced = 2 * shape.hiddenSize * 2 * ((2 * (n - 1)) / n);
  return {
    layerFlop: (2 * parameters.activeLayers) / n,
    layerBytes: (shape.mixture === undefined ? bytes.layers : always) / n,
    experts:
      shape.mixture === undefined
        ? null
        : { bytes: (bytes.layers - always) / n, each: shape.experts, used: shape.mixture.expertsPerToken },
    headFlop: headFlopPerPosition(shape) / n,
    headBytes: bytes.head / n,
    pairFlop: (layers - windowed) * pairFlop,
    kvBytes: (layers - windowed) * kvBytes,
    window:
      shape.slidingWindow === undefined
        ? null
        : { tokens: shape.slidingWindow.tokens, pairFlop: windowed * pairFlop, kvBytes: windowed * kvBytes },
    groupS:
      n === 1
        ? { perPass: 0, perToken: 0 }
        : { perPass: 2 * shape.layers * allReduceS, perToken: (shape.layers * reduced) / linkBytesPerS },
  };
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
