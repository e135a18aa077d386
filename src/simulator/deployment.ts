import { type Fit, type FitInput, fitOf } from '../hardware/fit.ts';
import type { Hardware } from '../hardware/gpus.ts';
import type { CompleteShape } from '../hardware/model.ts';
import { type KvDtype, kvDtypeNamed, type PrecisionName, precisionNamed } from '../hardware/precision.ts';
import type { Configuration, Settings } from '../records/settings.ts';
import { defaultsOf, type EngineDefaults, optionsOf } from './defaults.ts';
import { type Drafts, tokensPerStep } from './drafts.ts';
import type { EngineSpec } from './engine.ts';
import { machineOf, type Parameters } from './parameters.ts';
import { schedulers } from './scheduler/table.ts';
import { workOf } from './work.ts';

/** A configuration on a model and a GPU: everything that a prediction depends on, but for the load. */
export interface Deployment {
  readonly configuration: Configuration;
  readonly shape: CompleteShape;
  readonly hardware: Hardware;
  /** Chance that a drafted token is accepted, where the configuration drafts; in [0, 1). */
  readonly acceptance?: number;
}

/** A deployment worked out. */
export interface Simulable {
  readonly spec: EngineSpec;
  readonly fit: Fit;
  readonly precision: PrecisionName;
  readonly kvDtype: KvDtype;
  readonly tensorParallel: number;
  /** Copies of the model that share the requests. */
  readonly replicas: number;
  readonly drafts: Drafts | null;
  /** What of the configuration the simulation does not follow. */
  readonly notModelled: readonly string[];
}

/** Settings that change something which the simulation knows nothing of. */
const unknown = ['pipeline_parallel', 'attention_backend', 'kv_offload_gib', 'torch_compile', 'async_scheduling',
  'performance_mode', 'api_servers', 'stream_interval', 'expert_parallel', 'extra_args'] as const; // biome-ignore format: one list

/**
 * Works out what a deployment comes to; the text of the result says why it cannot be simulated.
 *
 * @param parameters fitted ones; what is absent is as believed beforehand
 */
export function simulable(
  { configuration, shape, hardware, acceptance = 0.6 }: Deployment,
  parameters: Parameters,
): Simulable | string {
  const { engine, version, settings } = configuration;
  const scheduler = schedulers.find(({ name }) => name === engine);
  const defaults = defaultsOf(engine, hardware, version);
  if (scheduler === undefined || defaults === null) return `the scheduler of ${engine} is not known to the simulator`;
  const precision = precisionNamed(text(settings.quantization) ?? shape.quantization);
  const kvDtype = kvDtypeNamed(text(settings.kv_cache_dtype));
  if (precision === null) return `the number format ${settings.quantization ?? shape.quantization} is not known`;
  if (kvDtype === null) return `the number format ${settings.kv_cache_dtype} of the KV cache is not known`;

  const options = optionsOf(defaults, settings, engine);
  const tensorParallel = count(settings.tensor_parallel, 1);
  const cudaGraphs = settings.cuda_graphs !== false;
  const fit = fitOf(
    fitInput({ shape, hardware, settings }, options, { precision, kvDtype, tensorParallel, cudaGraphs }),
  );
  const machine = machineOf(engine, hardware, precision, parameters, { layers: shape.layers, cudaGraphs });
  const drafted = settings.speculative_method === undefined ? 0 : count(settings.speculative_tokens, 3);
  const drafts = drafted === 0 ? null : { tokens: drafted, acceptance };
  return {
    spec: {
      scheduler,
      model: workOf(shape, { precision, kvDtype, tensorParallel, hardware }),
      ...machine,
      options: {
        ...options,
        kvTokens: fit.kvCapacityTokens,
        mixedChunk: /--enable-mixed-chunk/.test(text(settings.extra_args) ?? ''),
        scheduleConservativeness: count(settings.scheduling_conservativeness, 1),
        verifiedTokens: 1 + drafted,
        tokensPerStep: drafts === null ? 1 : tokensPerStep(drafts),
      },
    },
    fit,
    precision,
    kvDtype,
    tensorParallel,
    replicas: count(settings.data_parallel, 1),
    drafts,
    notModelled: unknown.filter((name) => settings[name] !== undefined),
  };
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const count = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);

function fitInput(
  { shape, hardware, settings }: { shape: CompleteShape; hardware: Hardware; settings: Settings },
  options: EngineDefaults,
  {
    precision,
    kvDtype,
    tensorParallel,
    cudaGraphs,
  }: { precision: PrecisionName; kvDtype: KvDtype; tensorParallel: number; cudaGraphs: boolean },
): FitInput {
  return {
    shape,
    hardware,
    precision,
    kvDtype,
    memoryRule: options.memoryRule,
    memoryFraction: options.memoryFraction,
    maxModelLen: Math.min(shape.maxPositions, count(settings.context_length, shape.maxPositions)),
    maxBatchedTokens: options.maxBatchedTokens,
    maxRunningRequests: options.maxRunningRequests,
    tensorParallel,
    pipelineParallel: count(settings.pipeline_parallel, 1),
    enforceEager: !cudaGraphs,
  };
}
