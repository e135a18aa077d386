import type { MeasuredRates } from './gpus.ts';

const where = 'NVIDIA H200, driver 580.159.04, PyTorch 2.11.0 for CUDA 13.0, 700 W cap';

/**
 * Twelve seconds without pause of Qwen3-14B's linear layers with causal attention over prompts of 4096 tokens, 8192 tokens
 * a pass: 23,555 tok/s in bf16 and 41,974 in FP8 (attention in bf16), times 28.10 GFLOP a token. So the rates are those
 * of both together. The rate of memory is the one of the bursts.
 */
export const h200Sustained: MeasuredRates = {
  memoryBytesPerS: 4.457e12,
  matrixFlopPerS: { bf16: 661.9e12, fp8: 1179.5e12, int8: null, fp4: null },
  prefillAttentionFlopPerS: null,
  decodeAttentionBytesPerS: null,
  duration: 'sustained',
  origin: `${where}; 1440-1500 MHz, held by the power cap`,
};

/**
 * Milliseconds at a time: the four linear layers of Qwen3-14B at 8192 tokens, causal attention of two prompts of 4000
 * tokens and attention of 64 sequences of 4096 tokens through PyTorch's SDPA.
 */
export const h200Burst: MeasuredRates = {
  memoryBytesPerS: 4.457e12,
  matrixFlopPerS: { bf16: 675.0e12, fp8: 1283.2e12, int8: null, fp4: null },
  prefillAttentionFlopPerS: 526.3e12,
  decodeAttentionBytesPerS: 4.486e12,
  duration: 'burst',
  origin: `${where}; near 1980 MHz`,
};
