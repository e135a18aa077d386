import { kvBytesPerToken } from '../../hardware/model.ts';
import { formatNumber } from '../../kit/words.ts';
import type { Settings, SettingValue } from '../../records/settings.ts';
import { type Deployment, type Simulable, simulable } from '../../simulator/deployment.ts';
import type { Parameters } from '../../simulator/parameters.ts';
import type { Failure } from '../failure.ts';

/** From the disk to the GPU, bytes/s, and what an engine takes besides; both typical, neither fitted. */
const loadedBytesPerS = 2e9;
const startedS = 20;

/** A configuration that serves. */
export interface Started {
  readonly able: Simulable;
  readonly startS: number;
}

const count = (value: SettingValue | undefined): number => (typeof value === 'number' ? value : 1);

/**
 * Starts a configuration in thought: what it comes to, or the fate that its start would have, with what would mend it.
 *
 * @param gpus how many there are
 */
export function startOf(deployment: Deployment, parameters: Parameters, gpus: number): Started | Failure {
  const { settings } = deployment.configuration;
  const needed = count(settings.tensor_parallel) * count(settings.pipeline_parallel) * count(settings.data_parallel);
  if (needed > gpus) {
    const message = `needs ${needed} GPUs, and there ${gpus === 1 ? 'is' : 'are'} ${gpus}`;
    return unsupported(message, 'lower tensor_parallel, pipeline_parallel or data_parallel');
  }
  const able = simulable(deployment, parameters);
  if (typeof able === 'string') return unsupported(able, 'the simulator knows vllm, sglang and tensorrt-llm');
  if (!able.fit.starts) return outOfMemory(deployment, parameters, able);
  return { able, startS: Math.round(able.fit.parts.weights / loadedBytesPerS + startedS) };
}

/** What the deployment comes to with some settings more. */
function ableWith(deployment: Deployment, parameters: Parameters, more: Settings): ReturnType<typeof simulable> {
  const { configuration } = deployment;
  const settings = { ...configuration.settings, ...more };
  return simulable({ ...deployment, configuration: { ...configuration, settings } }, parameters);
}

const unsupported = (message: string, hint: string): Failure => ({
  fate: 'unsupported_setting',
  failure: { message: `simulated: ${message}`, logTail: [], hint },
});

function outOfMemory(deployment: Deployment, parameters: Parameters, able: Simulable): Failure {
  const startsWith = (settings: Settings): boolean => {
    const other = ableWith(deployment, parameters, settings);
    return typeof other !== 'string' && other.fit.starts;
  };
  const { largestContextTokens } = able.fit;
  const context = Math.min(largestContextTokens, deployment.shape.maxPositions);
  const contextFits = context > 0 && startsWith({ context_length: context });
  const sequences = largest(able.spec.options.maxRunningRequests - 1, (n) => startsWith({ max_running_requests: n }));
  const shown = (n: number): string => formatNumber(n, 'en');
  const remedies = [
    ...(contextFits ? [`set context_length to at most ${shown(context)}`] : []),
    ...(sequences > 0 ? [`max_running_requests to at most ${shown(sequences)}`] : []),
  ];
  const otherwise = 'quantize the weights or the KV cache, or share the model among more GPUs (tensor_parallel)';
  const suggestion: Settings = contextFits
    ? { context_length: context }
    : sequences > 0
      ? { max_running_requests: sequences }
      : {};
  return {
    fate: 'out_of_memory',
    failure: {
      message: `simulated: ${able.fit.reason}`,
      logTail: [],
      hint: remedies.length > 0 ? remedies.join(', or ') : otherwise,
      ...(Object.keys(suggestion).length > 0 ? { suggestion } : {}),
    },
  };
}

/** The largest whole number from 1 to `most` that holds, where all below hold as well; 0 where none does. */
function largest(most: number, holds: (n: number) => boolean): number {
  if (most < 1 || !holds(1)) return 0;
  let [low, high] = [1, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** What a simulated engine would say of its settings in force. */
export function settingsInForce({ able }: Started, { shape }: Deployment): Readonly<Record<string, string>> {
  const { spec, fit, precision, kvDtype, tensorParallel, replicas } = able;
  return {
    quantization: precision,
    kv_cache_dtype: kvDtype,
    kv_cache_tokens: String(fit.kvCapacityTokens),
    kv_bytes_per_token: String(kvBytesPerToken(shape, kvDtype, tensorParallel)),
    max_batched_tokens: String(spec.options.maxBatchedTokens),
    max_running_requests: String(spec.options.maxRunningRequests),
    replicas: String(replicas),
  };
}
