import type { Parameters } from './parameters.ts';

/**
 * Fitted to 28 published result blocks of Qwen3-14B on H100 and A100 (`npm run validate:simulator -- --write` writes this
 * file). The H100 of that study reaches about a third of its data sheet: these are the rates of that machine, not of the
 * part, and nothing but the check against published blocks uses them.
 */
export const publishedParameters: Parameters = {
  'A100 SXM 80GB matrix FLOP/s': 238000000000000,
  'A100 SXM 80GB memory bytes/s': 1467000000000,
  'A100 SXM 80GB attention over matrix rate': 0.6622,
  'vllm seconds a step': 0.007088,
  'vllm seconds a request': 0.01294,
  'A100 SXM 80GB mixed attention slowdown': 3.628,
  'sglang seconds a step': 0.005774,
  'sglang seconds a request': 0.001105,
  'tensorrt-llm seconds a step': 0.003304,
  'tensorrt-llm seconds a request': 0.001262,
  'H100 SXM matrix FLOP/s': 370900000000000,
  'H100 SXM memory bytes/s': 2243000000000,
  'H100 SXM attention over matrix rate': 0.9621,
  'H100 SXM fp8 speedup': 1.303,
};
