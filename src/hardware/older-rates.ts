import {
  beyondCaches,
  burstNotes,
  type GpuRates,
  layerFlopPerS,
  longPrompt,
  medianOf,
  type Pair,
  type RateName,
  ratesOf,
  tera,
} from './gpu-rates.ts';
import type { RooflineFile, SustainedFile } from './rates-files.ts';

/** Rates of `roofline.json`: every one a burst. */
export function ofRoofline(file: RooflineFile): GpuRates {
  const matrices = (key: 'bf16_tflops' | 'fp8_tflops') =>
    layerFlopPerS(
      file.gemm.flatMap((row) => {
        const rate = row[key];
        return typeof rate === 'number' ? [{ what: row.op, m: row.m, k: row.k, n: row.n, flopPerS: rate * tera }] : [];
      }),
    );
  const prompts = file.attention_prefill_sdpa;
  const long = prompts.filter(({ seq }) => seq >= longPrompt);
  const decode = file.attention_decode_sdpa;
  const large = decode.filter(({ ms, tb_s }) => (ms / 1e3) * tb_s * tera >= beyondCaches);
  const burst = (rate: number | null): Pair => ({ rate, burst: rate, sustained: false });
  return {
    ...ratesOf({
      bf16FlopPerS: burst(matrices('bf16_tflops')),
      fp8FlopPerS: burst(matrices('fp8_tflops')),
      readBytesPerS: burst(file.read_tb_s * tera),
      prefillAttentionFlopPerS: burst(medianOf((long.length > 0 ? long : prompts).map((p) => p.tflops_causal * tera))),
      decodeAttentionBytesPerS: burst(medianOf((large.length > 0 ? large : decode).map((p) => p.tb_s * tera))),
    }),
    device: file.device,
    memoryBytes: Math.round(file.mem_gib * 2 ** 30),
    powerCapW: null,
    kernelLaunchS: file.kernel_us.eager / 1e6,
    graphKernelS: file.kernel_us.graph / 1e6,
    passTokensPerS: { bf16: null, fp8: null },
    powerCapped: null,
    notes: ['bursts of milliseconds: under the power cap the rates are lower'],
  };
}

/**
 * The passes of `sustained.json`: Qwen3-14B, causal attention over prompts of 4096 tokens. Operations a token of a layer:
 * 2 for each weight of the matrices (5120 x 7168, 5120 x 5120, 5120 x 34816, 17408 x 5120), 4 x 40 heads x 128 for each of
 * the (4096 + 1) / 2 keys that a query sees on average.
 */
const passLayers = 40;
const passMatrixFlop = 2 * (5120 * 7168 + 5120 * 5120 + 5120 * 34816 + 17408 * 5120) * passLayers;
const passAttentionFlop = 4 * 40 * 128 * ((4096 + 1) / 2) * passLayers;

/**
 * In bf16 matrices and attention are taken for one rate: (matrix + attention FLOP a token) x tokens a second. In FP8 only
 * the matrices are faster: their time is what is left after attention at the bf16 rate.
 */
export function ofSustained(file: SustainedFile): GpuRates {
  const bf16 = (tokensPerS: number) => (passMatrixFlop + passAttentionFlop) * tokensPerS;
  const fp8 = (tokensPerS: number, attentionFlopPerS: number) => {
    const left = 1 / tokensPerS - passAttentionFlop / attentionFlopPerS;
    return left > 0 ? passMatrixFlop / left : null;
  };
  const steady = { bf16: file.bf16.sustained_tok_s_median_last_6s, fp8: file.fp8?.sustained_tok_s_median_last_6s };
  const first = { bf16: file.bf16.first_pass_tok_s, fp8: file.fp8?.first_pass_tok_s };
  const none: Pair = { rate: null, burst: null, sustained: true };
  const pairs: Readonly<Record<RateName, Pair>> = {
    bf16FlopPerS: { rate: bf16(steady.bf16), burst: bf16(first.bf16), sustained: true },
    fp8FlopPerS: {
      rate: steady.fp8 === undefined ? null : fp8(steady.fp8, bf16(steady.bf16)),
      burst: first.fp8 === undefined ? null : fp8(first.fp8, bf16(first.bf16)),
      sustained: true,
    },
    readBytesPerS: none,
    prefillAttentionFlopPerS: none,
    decodeAttentionBytesPerS: none,
  };
  const masks = [...file.bf16.smi_last, ...(file.fp8?.smi_last ?? [])].map((line) =>
    BigInt(line.split(/, */)[3] ?? '0'),
  );
  // Bit 2 of NVML's mask is the software power cap.
  const capped = masks.filter((mask) => (mask & 4n) !== 0n).length;
  return {
    ...ratesOf(pairs),
    device: null,
    memoryBytes: null,
    powerCapW: null,
    kernelLaunchS: null,
    graphKernelS: null,
    passTokensPerS: { bf16: steady.bf16, fp8: steady.fp8 ?? null },
    powerCapped: masks.length === 0 ? null : capped >= masks.length / 2,
    notes: [
      'rates of whole passes through Qwen3-14B: matrices and causal attention of 4096-token prompts together',
      ...burstNotes(pairs),
    ],
  };
}
