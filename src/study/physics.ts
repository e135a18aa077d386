import { ceilingOf, floorsOf, physicsProblems } from '../hardware/ceiling.ts';
import { gpuNamed } from '../hardware/gpus.ts';
import { completeShape } from '../hardware/model.ts';
import { kvDtypeNamed, precisionNamed } from '../hardware/precision.ts';
import type { Gpu } from '../records/gpu.ts';
import type { ModelShape } from '../records/model-shape.ts';
import type { RecordList } from '../records/request.ts';
import type { Configuration, SettingValue } from '../records/settings.ts';
import type { Summary } from '../records/summary.ts';
import type { CeilingReached } from '../records/trial.ts';

/** What physics says of one measurement. */
export interface Judged {
  /** Null where none is known: with drafts, and of weights that do not fit. */
  readonly ceiling: CeilingReached | null;
  /** Why it cannot be true; empty where it can. */
  readonly problems: readonly string[];
}

const count = (value: SettingValue | undefined): number => (typeof value === 'number' ? value : 1);
const text = (value: SettingValue | undefined): string | null => (typeof value === 'string' ? value : null);

/**
 * Judges a measurement by what the GPUs can do at most: no more tokens a second than arithmetic and memory allow, no token
 * of a stream sooner than the weights can be read. Null where model, GPU or number format are not known well enough, and
 * where layers are not on the GPU.
 *
 * @param maxConcurrency of the load; null for any number
 */
export function judge(
  { settings }: Configuration,
  { shape, gpus }: { readonly shape: ModelShape | null; readonly gpus: readonly Gpu[] },
  {
    records,
    summary,
    maxConcurrency,
  }: { readonly records: RecordList; readonly summary: Summary; readonly maxConcurrency: number | null },
): Judged | null {
  const complete = shape && completeShape(shape);
  const hardware = gpus[0] === undefined ? null : gpuNamed(gpus[0].name);
  const precision = precisionNamed(text(settings.quantization) ?? shape?.quantization ?? null);
  const kvDtype = kvDtypeNamed(text(settings.kv_cache_dtype));
  const total = summary.totalTokenThroughput;
  if (!complete || hardware === null || precision === null || kvDtype === null || total === null) return null;
  if (settings.gpu_layers !== undefined) return null;

  const replicas = count(settings.data_parallel);
  const tensorParallel = count(settings.tensor_parallel) * count(settings.pipeline_parallel);
  const deployment = { shape: complete, hardware, precision, kvDtype, tensorParallel, memoryFraction: 1 };
  const drafted = settings.speculative_method === undefined ? 0 : count(settings.speculative_tokens);
  const floors = floorsOf(deployment, { tokensPerStep: 1 + drafted });
  // The ceiling has one token of an answer a pass: drafts that are accepted go beyond it.
  const ceiling =
    drafted > 0
      ? null
      : ceilingOf({
          ...deployment,
          requests: requestsOf(records),
          ...(maxConcurrency === null ? {} : { maxConcurrency }),
        });
  // What a cache of earlier prompts gave needed no arithmetic.
  const share = 1 - (summary.cachedInputTokens ?? 0) / Math.max(1, summary.inputTokens + summary.outputTokens);
  const problems = physicsProblems(
    { totalTokensPerS: (total * share) / replicas, meanTpotS: summary.latencies.tpot?.mean },
    ceiling,
    floors,
  );
  return {
    ceiling:
      ceiling === null || ceiling.totalTokensPerS === 0
        ? null
        : { totalTokensPerS: ceiling.totalTokensPerS * replicas, bound: ceiling.bound, hardware: hardware.name },
    problems: problems.map(({ message }) => message),
  };
}

/** Lengths of the requests that were served, equal ones together. */
function requestsOf(records: RecordList): { input: number; output: number; count: number }[] {
  const counts = new Map<string, { input: number; output: number; count: number }>();
  for (const { outcome, serverPromptTokens, promptTokens, outputTokens, cachedTokens } of records) {
    if (outcome !== 'ok') continue;
    const input = Math.max(1, (serverPromptTokens ?? promptTokens) - (cachedTokens ?? 0));
    const key = `${input} ${outputTokens}`;
    const known = counts.get(key);
    if (known) known.count++;
    else counts.set(key, { input, output: outputTokens, count: 1 });
  }
  return [...counts.values()];
}
