import { z } from 'zod';
import { InputError, messageOf, type Problem } from '../kit/errors.ts';

const positive = z.number().positive();
const whole = z.int().positive();
const share = z.number().min(0).max(1);

/** The matrices of one layer, by the names of both kinds of files. */
export const layerMatrices = ['qkv', 'o', 'gate_up', 'down'] as const;

/** What each kind of measurement must tell, beside its name and format. */
const told = {
  qkv: ['m', 'k', 'n', 'tflops', 'burst_tflops', 'sustained'],
  o: ['m', 'k', 'n', 'tflops', 'burst_tflops', 'sustained'],
  gate_up: ['m', 'k', 'n', 'tflops', 'burst_tflops', 'sustained'],
  down: ['m', 'k', 'n', 'tflops', 'burst_tflops', 'sustained'],
  lm_head: ['m', 'k', 'n', 'tflops', 'burst_tflops', 'sustained'],
  layer_pass: ['m', 'context', 'tflops', 'burst_tflops', 'tokens_per_s', 'burst_tokens_per_s', 'sustained'],
  hbm_read: ['bytes_per_s', 'burst_bytes_per_s', 'sustained'],
  hbm_copy: ['bytes_per_s', 'burst_bytes_per_s', 'sustained'],
  prefill_attention: ['batch', 'context', 'tflops', 'burst_tflops', 'sustained'],
  decode_attention: ['batch', 'context', 'bytes_per_s', 'burst_bytes_per_s', 'sustained'],
  kernel_launch: ['graph'],
} as const;

const measurement = z
  .object({
    what: z.enum(Object.keys(told) as (keyof typeof told)[]),
    dtype: z.enum(['bf16', 'fp8', 'fp8_row', 'fp32', 'none']),
    m: whole.nullable(),
    k: whole.nullable(),
    n: whole.nullable(),
    batch: whole.nullable(),
    context: whole.nullable(),
    kernel: z.string().nullable(),
    graph: z.boolean().nullable(),
    /** Without pause; of them `counted_s` at the end, in so many windows, were counted. */
    seconds: positive.nullable(),
    counted_s: positive.nullable(),
    windows: whole.nullable(),
    sustained: z.boolean().nullable(),
    call_s: positive,
    tflops: positive.nullable(),
    burst_tflops: positive.nullable(),
    bytes_per_s: positive.nullable(),
    burst_bytes_per_s: positive.nullable(),
    tokens_per_s: positive.nullable(),
    burst_tokens_per_s: positive.nullable(),
    clocks_mhz: positive.nullable(),
    burst_clocks_mhz: positive.nullable(),
    power_w: positive.nullable(),
    temperature_c: z.number().nullable(),
    throttle: z.record(z.string(), share).nullable(),
  })
  .superRefine((row, context) => {
    for (const key of told[row.what]) {
      if (row[key] === null) context.addIssue({ code: 'custom', path: [key], message: `missing in ${row.what}` });
    }
  });

export type Measurement = z.infer<typeof measurement>;

/** What `tools/gpu-rates/measure.py` writes; the meaning of each key stands at the top of that program. */
export const gpuRatesFile = z.object({
  format: z.literal('servetune-gpu-rates'),
  version: z.literal(1, 'only version 1 can be read'),
  complete: z.boolean(),
  started_at: z.string(),
  elapsed_s: z.number().nonnegative(),
  device: z.object({
    kind: z.enum(['cuda', 'hip', 'cpu']).nullable(),
    name: z.string().nullable(),
    memory_bytes: whole.nullable(),
    multiprocessors: whole.nullable(),
    compute_capability: z.string().nullable(),
    driver: z.string().nullable(),
    power_cap_w: positive.nullable(),
    max_clock_mhz: positive.nullable(),
  }),
  software: z.record(z.string(), z.string().nullable()),
  shape: z.object({
    layers: whole,
    hidden: whole,
    heads: whole,
    kv_heads: whole,
    head_dim: whole,
    intermediate: whole,
    vocab: whole,
    tp: whole,
  }),
  settings: z.object({ seconds: positive }),
  notes: z.array(z.string()),
  measurements: z.array(measurement),
  skipped: z.array(z.object({ part: z.string(), dtype: z.string(), reason: z.string() })),
  errors: z.array(z.object({ part: z.string(), dtype: z.string(), error: z.string() })),
});

export type GpuRatesFile = z.infer<typeof gpuRatesFile>;

/** Bursts of milliseconds: rates in TFLOP/s and TB/s, times in ms and us. */
export const rooflineFile = z.object({
  device: z.string(),
  mem_gib: positive,
  copy_tb_s: positive,
  read_tb_s: positive,
  gemm: z
    .array(
      z.object({
        op: z.enum([...layerMatrices, 'lm_head']),
        m: whole,
        k: whole,
        n: whole,
        bf16_tflops: positive,
        fp8_tflops: positive.nullish(),
      }),
    )
    .min(1),
  attention_prefill_sdpa: z.array(z.object({ seq: whole, batch: whole, tflops_causal: positive })),
  attention_decode_sdpa: z.array(z.object({ batch: whole, ctx: whole, ms: positive, tb_s: positive })),
  kernel_us: z.object({ eager: positive, graph: positive }),
});

export type RooflineFile = z.infer<typeof rooflineFile>;

const pass = z.object({
  first_pass_tok_s: positive,
  sustained_tok_s_median_last_6s: positive,
  /** Power in W, SM clock in MHz, temperature, mask of throttle reasons. */
  smi_last: z.array(z.string().regex(/^[\d.]+, *\d+, *\d+, *0x[0-9a-f]+$/i, 'is no “power, clock, temperature, mask”')),
});

/** Tokens a second through all layers of a model, at first and after seconds without pause. */
export const sustainedFile = z.object({ bf16: pass, fp8: pass.optional() });

export type SustainedFile = z.infer<typeof sustainedFile>;

/** One file of rates, told apart by what is in it. */
export type RatesFile =
  | { readonly kind: 'gpu-rates'; readonly content: GpuRatesFile }
  | { readonly kind: 'roofline'; readonly content: RooflineFile }
  | { readonly kind: 'sustained'; readonly content: SustainedFile };

/** Reads the text of any of the three; `place` names it in problems. Throws `InputError` with all of them. */
export function parseRatesFile(text: string, place: string): RatesFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new InputError([
      { place, message: `is no JSON: ${messageOf(error)}`, hint: 'name the file that measure.py wrote with --out' },
    ]);
  }
  const has = (key: string): boolean => typeof json === 'object' && json !== null && key in json;
  if (has('format')) return { kind: 'gpu-rates', content: checked(gpuRatesFile, json, place) };
  if (has('gemm')) return { kind: 'roofline', content: checked(rooflineFile, json, place) };
  if (has('bf16')) return { kind: 'sustained', content: checked(sustainedFile, json, place) };
  throw new InputError([
    {
      place,
      message: 'holds no measured rates of a GPU',
      hint: 'run tools/gpu-rates/measure.py on the GPU and name its file',
    },
  ]);
}

function checked<S extends z.ZodType>(schema: S, json: unknown, place: string): z.infer<S> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new InputError(
    parsed.error.issues.map(
      (issue): Problem => ({
        place: [place, nameOf(issue.path)].filter(Boolean).join(' '),
        message: issue.message,
        hint: 'use the file as it was written, or measure again',
      }),
    ),
  );
}

/** `measurements[3].tflops` */
const nameOf = (path: readonly PropertyKey[]): string =>
  path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
