import { z } from 'zod';
import { standInLengths } from '../../datasets/kept/stand-in.ts';
import { gpuNamed } from '../../hardware/gpus.ts';
import { completeShape } from '../../hardware/model.ts';
import { modelNamed } from '../../hardware/models.ts';
import { InputError, type Problem } from '../../kit/errors.ts';
import type { Settings, SettingValue } from '../../records/settings.ts';
import type { Observation } from '../../simulator/calibrate.ts';
import type { Load } from '../../simulator/simulate.ts';

const amount = z.number().nonnegative();

/** A published result block with what stood around it: its command, engine, model, GPU and workload. */
const block = z.object({
  command: z.string(),
  engine: z.string(),
  engine_version: z.string().nullish(),
  model: z.string(),
  precision: z.string(),
  gpu: z.string(),
  tp: z.int().positive().nullish(),
  dp: z.int().positive().nullish(),
  pp: z.int().positive().nullish(),
  workload: z.string(),
  isl: amount,
  osl: amount,
  n_requests: z.int().positive(),
  metrics: z.object({
    input_tokens: amount.nullish(),
    output_tokens: amount.nullish(),
    max_concurrency: amount.nullish(),
    total_tok_per_s: amount.nullish(),
    ttft_mean_ms: amount.nullish(),
    tpot_mean_ms: amount.nullish(),
  }),
});
export type PublishedBlock = z.infer<typeof block>;

const file = z.object({ blocks: z.array(block) });

/** Reads a file of blocks. Throws an InputError with every problem. */
export function readBlocks(text: string, place: string): readonly PublishedBlock[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InputError([{ place, message: `is not JSON (${error instanceof Error ? error.message : error})` }]);
  }
  const read = file.safeParse(value);
  if (read.success) return read.data.blocks;
  const problems: Problem[] = read.error.issues.map((issue) => ({
    place: `${place}: ${issue.path.join('.')}`,
    message: issue.message,
    hint: 'the form is that of tools/simulator/blocks/qwen3-14b.json',
  }));
  throw new InputError(problems);
}

const engineNames: Readonly<Record<string, string>> = {
  vllm: 'vllm',
  sglang: 'sglang',
  'tensorrt-llm': 'tensorrt-llm',
};

/** The block as an observation; a text says why it is none. */
export function observationOf(one: PublishedBlock): Observation | string {
  const engine = engineNames[one.engine.toLowerCase()];
  if (engine === undefined) return `the engine ${one.engine} is not known`;
  const hardware = gpuNamed(one.gpu);
  if (hardware === null) return `the GPU ${one.gpu} is not known`;
  const model = modelNamed(one.model);
  const shape = model === null ? null : completeShape(model.shape);
  if (shape === null) return `the shape of ${one.model} is not known`;
  const { metrics } = one;
  const seconds = (ms: number | null | undefined): number | null => (ms == null ? null : ms / 1000);
  const version = one.engine_version?.replace(/^v/, '');
  return {
    label: [one.gpu, engine, one.precision, one.workload, extrasOf(one.command)].filter(Boolean).join(' '),
    deployment: {
      configuration: { engine, ...(version ? { version } : {}), settings: settingsOf(one) },
      shape,
      hardware,
    },
    load: loadOf(one),
    measured: {
      totalTokensPerS: metrics.total_tok_per_s ?? null,
      meanTtftS: seconds(metrics.ttft_mean_ms),
      meanTpotS: seconds(metrics.tpot_mean_ms),
    },
  };
}

/** Flags that the simulation follows, as the engines' versions of these blocks write them. */
const flags: Readonly<Record<string, string>> = {
  'max-num-batched-tokens': 'max_batched_tokens',
  max_num_tokens: 'max_batched_tokens',
  'max-prefill-tokens': 'max_batched_tokens',
  'max-num-seqs': 'max_running_requests',
  'max-running-requests': 'max_running_requests',
  max_batch_size: 'max_running_requests',
  'chunked-prefill-size': 'chunked_prefill_size',
  enable_chunked_prefill: 'chunked_prefill',
  'enable-chunked-prefill': 'chunked_prefill',
  'gpu-memory-utilization': 'gpu_memory_fraction',
  'mem-fraction-static': 'gpu_memory_fraction',
  kv_cache_free_gpu_memory_fraction: 'gpu_memory_fraction',
  'kv-cache-dtype': 'kv_cache_dtype',
  'schedule-conservativeness': 'scheduling_conservativeness',
  'max-model-len': 'context_length',
  'context-length': 'context_length',
  max_seq_len: 'context_length',
  'tensor-parallel-size': 'tensor_parallel',
  'tp-size': 'tensor_parallel',
  tp: 'tensor_parallel',
  tp_size: 'tensor_parallel',
  'data-parallel-size': 'data_parallel',
  'dp-size': 'data_parallel',
};

function settingsOf({ command, precision, tp, dp }: PublishedBlock): Settings {
  const settings: Record<string, SettingValue> = { quantization: precision };
  if (tp != null && tp > 1) settings.tensor_parallel = tp;
  if (dp != null && dp > 1) settings.data_parallel = dp;
  const words = command.trim().split(/\s+/);
  words.forEach((word, i) => {
    const [, flag = '', joined] = /^--([\w-]+)(?:=(.*))?$/.exec(word) ?? [];
    const next = words[i + 1];
    const value = joined ?? (next === undefined || next.startsWith('-') ? 'true' : next);
    if (flag === 'enforce-eager' || flag === 'disable-cuda-graph') settings.cuda_graphs = false;
    const name = flags[flag];
    if (name !== undefined)
      settings[name] = value === 'true' ? true : Number.isNaN(Number(value)) ? value : Number(value);
  });
  return settings;
}

/** What a command says beyond the model. */
const extrasOf = (command: string): string => command.split(/\s+/).filter((word) => word.startsWith('--') && !word.startsWith('--model')).join(' '); // biome-ignore format: one line

/** All at once, as the studies sent them, but for a concurrency below the number of requests. */
function loadOf(one: PublishedBlock): Load {
  const count = one.n_requests;
  const { input_tokens: input, output_tokens: output, max_concurrency: concurrency } = one.metrics;
  const inputTokens = input ?? one.isl * count;
  const outputTokens = output ?? one.osl * count;
  const [promptTokens, answerTokens] = /^sharegpt/i.test(one.workload)
    ? conversations(count, inputTokens, outputTokens)
    : [spread(count, inputTokens), answers(count, outputTokens, one)];
  return {
    arrivalsS: new Float64Array(count),
    promptTokens,
    outputTokens: answerTokens,
    maxConcurrency: concurrency != null && concurrency > 0 && concurrency < count ? concurrency : null,
  };
}

/** Lengths of conversations: distributed as ShareGPT's, scaled so that they add up to what was told. */
function conversations(count: number, input: number, output: number): [Int32Array, Int32Array] {
  const some = standInLengths(count).slice(0, count);
  return [
    scaled(some.map(({ prompt }) => prompt), input),
    scaled(some.map(({ answer }) => answer), output),
  ]; // biome-ignore format: two columns
}

function scaled(lengths: readonly number[], total: number): Int32Array {
  const factor = total / lengths.reduce((a, b) => a + b, 0);
  return Int32Array.from(lengths, (length) => Math.max(1, Math.round(length * factor)));
}

const spread = (count: number, total: number): Int32Array =>
  Int32Array.from({ length: count }, (_, i) => Math.round((total * (i + 1)) / count) - Math.round((total * i) / count));

/**
 * Answers of the length that was asked for, but for some that ended sooner: as many as make up what is missing when they
 * end anywhere with equal chance. An equal shortfall of all would break the lockstep in which equal answers run.
 */
function answers(count: number, total: number, { workload, osl }: PublishedBlock): Int32Array {
  const asked = Number(/\/(\d+)$/.exec(workload)?.[1] ?? Math.ceil(osl));
  const short = Math.min(count, Math.max(0, Math.round((2 * (asked * count - total)) / asked)));
  const lengths = new Int32Array(count).fill(asked);
  for (let i = 0; i < short; i++) {
    const at = Math.floor(((i + 0.5) * count) / short);
    // 7 has no factor in common with most counts, so that short and long ones alternate.
    lengths[at] = Math.max(1, Math.round((asked * (((i * 7 + 3) % short) + 0.5)) / short));
  }
  return lengths;
}
