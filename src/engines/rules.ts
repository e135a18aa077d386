import type { Problem } from '../kit/errors.ts';
import { shellWords } from '../kit/shell.ts';
import type { Gpu } from '../records/gpu.ts';
import type { Settings, SettingValue } from '../records/settings.ts';
import type { Facts } from './engine.ts';
import { flagsSaid, inVersions, type Mapping, type Versions } from './mapping.ts';

/**
 * The NVIDIA GPUs on which something works, in some versions of an engine: compute capabilities (9.0 as 90) `from` and
 * `below`, without either all of them.
 */
export interface GpuSpan extends Versions {
  readonly from?: number;
  readonly below?: number;
}

/** For values of a setting the spans, of which the first counts that the version knows; a value without one runs anywhere. */
type Spans = Readonly<Record<string, readonly GpuSpan[]>>;

/** What an engine's kernels need of a GPU. */
export interface KernelNeeds {
  /** By the value of `quantization`. */
  readonly quantization?: Spans;
  /** By the value of `attention_backend`. */
  readonly attention?: Spans;
  /** An FP8 KV cache, by the attention backend that reads it; `default` is the engine's own choice. */
  readonly fp8Cache?: Spans;
}

/** The span that no GPU is in. */
export const noGpu: GpuSpan = { below: 0 };

/**
 * What cannot work with any engine that serves from GPUs, each with its reason. What is not known of the GPUs or of the
 * model is never a reason.
 */
export function gpuConflicts(settings: Settings, facts: Facts, needs: KernelNeeds = {}): readonly Problem[] {
  return [
    ...sharingProblems(settings, facts),
    ...modelProblems(settings, facts),
    ...kernelProblems(settings, facts, needs),
    ...contradictions(settings),
  ];
}

/** Sequences that decode get one token each in a step, so a step must hold as many tokens as there may be sequences. */
export function batchProblems({ max_batched_tokens: tokens, max_running_requests: sequences }: Settings): Problem[] {
  if (typeof tokens !== 'number' || typeof sequences !== 'number' || tokens >= sequences) return [];
  return [
    {
      place: 'max_batched_tokens',
      message: `${tokens} tokens a step are fewer than ${sequences} sequences`,
      hint: 'raise max_batched_tokens or lower max_running_requests',
    },
  ];
}

/** How a model is spread over GPUs. */
function sharingProblems(settings: Settings, { gpus = [], shape }: Facts): Problem[] {
  const problems: Problem[] = [];
  const tensor = count(settings.tensor_parallel);
  const heads = shape?.attentionHeads ?? 0;
  if (heads > 0 && heads % tensor !== 0) {
    problems.push({
      place: 'tensor_parallel',
      message: `${tensor} GPUs cannot share the ${heads} attention heads of the model evenly`,
      hint: `use a number that divides ${heads}`,
    });
  }
  const parts = (['tensor_parallel', 'pipeline_parallel', 'data_parallel'] as const).filter((n) => n in settings);
  const needed = parts.reduce((product, name) => product * count(settings[name]), 1);
  const [place = 'tensor_parallel'] = [...parts].sort((a, b) => count(settings[b]) - count(settings[a]));
  if (gpus.length > 0 && needed > gpus.length) {
    problems.push({
      place,
      message: `${parts.map((name) => `${name} ${count(settings[name])}`).join(' x ')} needs ${needed} GPUs, there are ${gpus.length}`,
      hint: 'lower it, or run on a machine with more GPUs',
    });
  } else if (gpus.length > 0 && gpus.length % tensor !== 0) {
    problems.push({
      place: 'tensor_parallel',
      message: `${tensor} does not divide the ${gpus.length} GPUs: ${gpus.length % tensor} would stay idle`,
      hint: `use a number that divides ${gpus.length}, or let the engine see fewer GPUs`,
    });
  }
  if (settings.expert_parallel === true && shape?.experts === 0) {
    problems.push({
      place: 'expert_parallel',
      message: 'the model has no experts to spread',
      hint: 'leave it out',
    });
  }
  return problems;
}

/** What the checkpoint does not allow. */
function modelProblems({ context_length: context, quantization }: Settings, { shape }: Facts): Problem[] {
  const problems: Problem[] = [];
  if (shape && shape.maxPositions > 0 && typeof context === 'number' && context > shape.maxPositions) {
    problems.push({
      place: 'context_length',
      message: `${context} tokens are more than the ${shape.maxPositions} that the model was made for`,
      hint: `use at most ${shape.maxPositions}`,
    });
  }
  if (shape?.quantization != null && String(quantization).endsWith('_online')) {
    problems.push({
      place: 'quantization',
      message: `the weights are quantized already (${shape.quantization}) and cannot be converted at load`,
      hint: 'leave it out, or name the unquantized model',
    });
  }
  return problems;
}

/** What the GPUs cannot do. */
function kernelProblems(settings: Settings, { gpus = [], version }: Facts, needs: KernelNeeds): Problem[] {
  const { quantization, attention_backend: backend, kv_cache_dtype: cache } = settings;
  const problems: Problem[] = [];
  const check = (place: string, spans: Spans | undefined, value: SettingValue | undefined, what: string): void => {
    const span = spans?.[String(value)]?.find((s) => inVersions(s, version));
    const outside = span && firstOutside(span, gpus);
    const hint = 'leave it out, or use another value';
    if (span === noGpu) problems.push({ place, message: `${what} works on no GPU`, hint });
    else if (span && outside) {
      const [name, capability] = outside;
      const message = `${what} needs ${rangeOf(span)}, ${name} has ${decimal(capability)}`;
      problems.push({ place, message, hint });
    }
  };
  check('quantization', needs.quantization, quantization, `${quantization}`);
  check('attention_backend', needs.attention, backend, `${backend}`);
  if (typeof cache === 'string' && cache.startsWith('fp8')) {
    const reader = backend === undefined ? 'an FP8 KV cache' : `an FP8 KV cache with attention backend ${backend}`;
    check('kv_cache_dtype', needs.fp8Cache, backend ?? 'default', reader);
  }
  return problems;
}

/** Settings of which one makes the other void. */
function contradictions(settings: Settings): Problem[] {
  const problems: Problem[] = [];
  const add = (place: string, message: string, hint: string): void => void problems.push({ place, message, hint });
  if (settings.cuda_graphs === false && settings.cuda_graph_max_batch !== undefined) {
    add('cuda_graph_max_batch', 'nothing is recorded with cuda_graphs false', 'leave one of them out');
  }
  if (settings.chunked_prefill === false && settings.chunked_prefill_size !== undefined) {
    add('chunked_prefill_size', 'there are no pieces with chunked_prefill false', 'leave one of them out');
  }
  const method = settings.speculative_method;
  for (const name of ['speculative_model', 'speculative_tokens']) {
    if (settings[name] !== undefined && method === undefined) {
      add(name, 'needs speculative_method', 'name the method, or leave it out');
    }
  }
  const drafts = method === 'eagle' || method === 'eagle3' || method === 'draft_model';
  if (drafts && settings.speculative_model === undefined) {
    add('speculative_method', `${method} needs a model that drafts`, 'add speculative_model');
  }
  return problems;
}

/**
 * What is wrong with `extra_args`: words that cannot be told apart, and flags that are servetune's to set, in any of
 * their spellings.
 */
export function extraArgsProblems({ extra_args: extra }: Settings, reserved: readonly string[]): Problem[] {
  if (typeof extra !== 'string') return [];
  const place = 'extra_args';
  const words = shellWords(extra);
  if (words === null) return [{ place, message: 'a quote is not closed', hint: 'write it as for a shell' }];
  return reserved
    .filter((flag) => words.some((word) => word.split('=', 1)[0] === flag))
    .map((flag) => ({ place, message: `${flag} is set by servetune`, hint: 'leave it out' }));
}

/** Spellings of one flag, of whichever engine. */
const spellings: readonly (readonly string[])[] = [
  ['--tensor-parallel-size', '--tp-size', '--tp', '-tp'],
  ['--pipeline-parallel-size', '--pp-size', '--pp', '-pp'],
  ['--data-parallel-size', '--dp-size', '--dp', '-dp'],
  ['--expert-parallel-size', '--ep-size', '--ep'],
  ['--quantization', '-q'],
  ['--ctx-size', '-c'],
  ['--parallel', '-np'],
  ['--batch-size', '-b'],
  ['--threads', '-t'],
  ['--flash-attn', '-fa'],
  ['--cache-type-k', '-ctk'],
  ['--gpu-layers', '--n-gpu-layers', '-ngl'],
];

/** One spelling of a flag, of its value, and of its opposite (`--no-...`). */
const plain = (flag: string): string => (flag.split('=', 1)[0] as string).replaceAll('_', '-').replace(/^--no-/, '--');

/** Flags in `extra_args` that another setting writes already, or whose opposite it writes: which of them counted would be luck. */
export function flagsSaidTwice(mapping: Mapping, settings: Settings, version: string | undefined): readonly Problem[] {
  const given = extraArgs(settings).filter((word) => word.startsWith('-') && !/^-\d/.test(word));
  return [...flagsSaid(mapping, settings, version)].flatMap(([name, flag]) => {
    const same = [flag, ...(spellings.find((all) => all.includes(plain(flag))) ?? [])].map(plain);
    const again = given.find((word) => same.includes(plain(word)));
    if (again === undefined) return [];
    const written = again.split('=', 1)[0];
    return [
      {
        place: 'extra_args',
        message: `${written} contradicts ${name}, which writes ${flag} already`,
        hint: `keep one of the two: ${name}, or the flag in extra_args`,
      },
    ];
  });
}

/** The words of `extra_args`, as they are added to a command. */
export const extraArgs = ({ extra_args: extra }: Settings): readonly string[] =>
  typeof extra === 'string' ? (shellWords(extra) ?? []) : [];

const count = (value: SettingValue | undefined): number => (typeof value === 'number' ? value : 1);

/** Name and compute capability of a GPU that a span leaves out, if there is one. */
function firstOutside(span: GpuSpan, gpus: readonly Gpu[]): readonly [string, number] | undefined {
  for (const { vendor, name, computeCapability: capability } of gpus) {
    if (vendor !== 'nvidia' || capability === null) continue;
    if (capability < (span.from ?? 0) || capability >= (span.below ?? Number.POSITIVE_INFINITY))
      return [name, capability];
  }
  return undefined;
}

function rangeOf({ from, below }: GpuSpan): string {
  const range = [from && `${decimal(from)} or newer`, below && `older than ${decimal(below)}`].filter(Boolean);
  return `compute capability ${range.join(' and ')}`;
}

const decimal = (capability: number): string => (capability / 10).toFixed(1);
