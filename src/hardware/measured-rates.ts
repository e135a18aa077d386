import {
  beyondCaches,
  burstNotes,
  type GpuRates,
  inTera,
  layerFlopPerS,
  longPrompt,
  manyTokens,
  medianOf,
  type Pair,
  type RateName,
  rateNames,
  ratesOf,
  tera,
} from './gpu-rates.ts';
import { ofRoofline, ofSustained } from './older-rates.ts';
import { type GpuRatesFile, layerMatrices, type Measurement, parseRatesFile } from './rates-files.ts';

/**
 * Rates of one GPU from the JSON of `tools/gpu-rates/measure.py`, or from the two older forms `roofline.json` (bursts)
 * and `sustained.json` (tokens a second of whole layers). Sustained rates stand where they were measured; a burst never
 * takes their place unmarked. `place` names the file in problems. Throws `InputError` with everything that is wrong.
 */
export function readMeasuredRates(text: string, place: string): GpuRates {
  const file = parseRatesFile(text, place);
  if (file.kind === 'gpu-rates') return ofGpuRates(file.content);
  return file.kind === 'roofline' ? ofRoofline(file.content) : ofSustained(file.content);
}

function ofGpuRates(file: GpuRatesFile): GpuRates {
  const { device, shape } = file;
  const rows = file.measurements;
  const named = (...whats: readonly Measurement['what'][]) => rows.filter(({ what }) => whats.includes(what));
  const layer = named(...layerMatrices);

  const matrices = (dtype: Measurement['dtype']): Pair => {
    const some = layer.filter((row) => row.dtype === dtype);
    const rateBy = (key: 'tflops' | 'burst_tflops') =>
      layerFlopPerS(
        some.map((row) => ({
          what: row.what,
          m: row.m ?? 0,
          k: row.k ?? 0,
          n: row.n ?? 0,
          flopPerS: (row[key] ?? 0) * tera,
        })),
      );
    return { rate: rateBy('tflops'), burst: rateBy('burst_tflops'), sustained: allSustained(some) };
  };
  const simple = (some: readonly Measurement[], key: 'tflops' | 'bytes_per_s'): Pair => {
    const per = key === 'tflops' ? tera : 1;
    const of = (name: typeof key | `burst_${typeof key}`) => medianOf(some.map((row) => (row[name] ?? 0) * per));
    return { rate: of(key), burst: of(`burst_${key}`), sustained: allSustained(some) };
  };

  const perTensor = matrices('fp8');
  const perRow = matrices('fp8_row');
  const prompts = named('prefill_attention');
  const long = prompts.filter(({ context }) => (context ?? 0) >= longPrompt);
  const decode = named('decode_attention');
  const large = decode.filter((row) => (row.bytes_per_s ?? 0) * row.call_s >= beyondCaches);
  const pairs: Readonly<Record<RateName, Pair>> = {
    bf16FlopPerS: matrices('bf16'),
    fp8FlopPerS: perTensor.rate === null ? perRow : perTensor,
    readBytesPerS: simple(named('hbm_read'), 'bytes_per_s'),
    prefillAttentionFlopPerS: simple(long.length > 0 ? long : prompts, 'tflops'),
    decodeAttentionBytesPerS: simple(large.length > 0 ? large : decode, 'bytes_per_s'),
  };
  const launch = (graph: boolean) => named('kernel_launch').find((row) => row.graph === graph)?.call_s ?? null;
  const passed = (dtype: Measurement['dtype']) =>
    named('layer_pass').find((row) => row.dtype === dtype)?.tokens_per_s ?? null;

  return {
    ...ratesOf(pairs),
    device: device.name,
    memoryBytes: device.memory_bytes,
    powerCapW: device.power_cap_w,
    kernelLaunchS: launch(false),
    graphKernelS: launch(true),
    passTokensPerS: { bf16: passed('bf16'), fp8: passed('fp8') },
    powerCapped: heldBack(
      [...layer.filter(({ m }) => (m ?? 0) >= manyTokens), ...named('layer_pass')],
      /^sw_power_cap$/,
    ),
    notes: [
      ...file.notes,
      ...(file.complete ? [] : ['the run was cut: what comes late in it is missing']),
      ...(shape.tp > 1 ? [`the matrices are those of one of ${shape.tp} ranks; communication was not measured`] : []),
      ...file.skipped.map(({ part, dtype, reason }) => `${part} ${dtype}: skipped, ${reason}`),
      ...file.errors.map(({ part, dtype, error }) => `${part} ${dtype}: failed, ${error}`),
      ...(perTensor.rate !== null && perRow.rate !== null
        ? [`fp8FlopPerS is with one scale a tensor; with one a row it is ${inTera(perRow.rate)} TFLOP/s`]
        : []),
      ...(heldBack(rows, /thermal/) ? ['heat held the clocks down in some measurements'] : []),
      ...burstNotes(pairs),
    ],
  };
}

/** A median over rates of which one is a burst is a burst. */
const allSustained = (rows: readonly Measurement[]): boolean => rows.every(({ sustained }) => sustained === true);

/** Whether in some row a reason was active in at least half of the samples; null where no row was sampled. */
function heldBack(rows: readonly Measurement[], reason: RegExp): boolean | null {
  const told = rows.flatMap(({ throttle }) => (throttle === null ? [] : [throttle]));
  if (told.length === 0) return null;
  return told.some((shares) => Object.entries(shares).some(([name, share]) => reason.test(name) && share >= 0.5));
}

/**
 * Two files of one GPU as one: of each rate the sustained one if either has it, else the burst, marked. Of two alike the
 * first file's stands. What differs between a sustained rate and the other file's burst is a note.
 */
export function combinedRates(first: GpuRates, second: GpuRates): GpuRates {
  const pairs = Object.fromEntries(
    rateNames.map((name): [RateName, Pair] => {
      const sources = [first, second].filter((rates) => rates[name] !== null);
      const steady = sources.find((rates) => !rates.burstOnly.includes(name));
      const burst = sources.find((rates) => rates.burstOnly.includes(name));
      const chosen = steady ?? burst;
      return [name, { rate: chosen?.[name] ?? null, burst: burst?.[name] ?? null, sustained: steady !== undefined }];
    }),
  ) as Record<RateName, Pair>;
  return {
    ...ratesOf(pairs),
    device: first.device ?? second.device,
    memoryBytes: first.memoryBytes ?? second.memoryBytes,
    powerCapW: first.powerCapW ?? second.powerCapW,
    kernelLaunchS: first.kernelLaunchS ?? second.kernelLaunchS,
    graphKernelS: first.graphKernelS ?? second.graphKernelS,
    passTokensPerS: {
      bf16: first.passTokensPerS.bf16 ?? second.passTokensPerS.bf16,
      fp8: first.passTokensPerS.fp8 ?? second.passTokensPerS.fp8,
    },
    powerCapped: first.powerCapped ?? second.powerCapped,
    notes: [...first.notes, ...second.notes, ...burstNotes(pairs)],
  };
}

/** One rate that is too low for the part. */
export interface SlowRate {
  readonly rate: RateName;
  readonly measured: number;
  readonly reference: number;
  /** `measured / reference`. */
  readonly share: number;
}

/** How a GPU does beside what was measured on that part. */
export interface CapComparison {
  /** Why nothing was compared; null where something was. */
  readonly notCompared: 'another part' | 'no sustained rates of both' | null;
  readonly compared: readonly RateName[];
  readonly slow: readonly SlowRate[];
  /** A cap that is lower than the reference's is the first thing to look at. */
  readonly powerCapW: { readonly measured: number | null; readonly reference: number | null };
}

/** Below this share of the reference a GPU is not what its name says. */
const leastShare = 0.8;

/**
 * The rates of a GPU that fall under 80 % of what was measured on the same part at its power cap. Only rates that are
 * sustained on both sides are compared: a burst would hide a slow GPU, or make one of a good one. Where one side does
 * not name its device, the parts count as the same.
 */
export function ratesUnderCap(measured: GpuRates, reference: GpuRates): CapComparison {
  const powerCapW = { measured: measured.powerCapW, reference: reference.powerCapW };
  const names = [measured, reference].flatMap(({ device }) => device?.trim().toLowerCase() ?? []);
  if (new Set(names).size > 1) return { notCompared: 'another part', compared: [], slow: [], powerCapW };
  const both = rateNames.flatMap((rate) => {
    const [own, other] = [measured, reference].map((r) => (r.burstOnly.includes(rate) ? null : r[rate]));
    return typeof own === 'number' && typeof other === 'number'
      ? [{ rate, measured: own, reference: other, share: own / other }]
      : [];
  });
  return {
    notCompared: both.length === 0 ? 'no sustained rates of both' : null,
    compared: both.map(({ rate }) => rate),
    slow: both.filter(({ share }) => share < leastShare),
    powerCapW,
  };
}
