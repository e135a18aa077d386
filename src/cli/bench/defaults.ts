import { datasets } from '../../datasets/table.ts';
import { endpoints } from '../../endpoints/table.ts';
import { metrics } from '../../metrics/table.ts';
import type { Compat } from '../../records/compat.ts';
import type { BenchOptions } from './options.ts';

/** Defaults that differ between versions. */
interface VersionDefaults {
  /** Sent when none is given; undefined sends none. */
  readonly temperature: number | undefined;
  readonly readyCheckTimeoutS: number;
  /** `unique` is told anew for each run. */
  requestIdPrefix(unique: string): string;
  /** Whether answers run to their full length although nobody said so. */
  pinsOutput(dataset: string, backend: string): boolean;
  readonly poolingMetrics: string;
  readonly metricNames: readonly string[];
}

const vllmMetrics = ['ttft', 'tpot', 'itl', 'e2el'];
/** Waiting for a place below `--max-concurrency`. */
export const queueMetrics = ['client_queue_time', 'e2el_including_client_queue'] as const;

const bothOlder = { temperature: 0, readyCheckTimeoutS: 600, metricNames: vllmMetrics };
const sinceOlder = {
  requestIdPrefix: (unique: string) => `bench-${unique}-`,
  pinsOutput: (dataset: string, backend: string) => ['random', 'timed_trace'].includes(dataset) && isOpenAi(backend),
  poolingMetrics: 'e2el',
};
const newest = {
  ...sinceOlder,
  temperature: undefined,
  readyCheckTimeoutS: 0,
  metricNames: [...vllmMetrics, ...queueMetrics],
};

const versions: Readonly<Record<Compat, VersionDefaults>> = {
  'vllm-0.11.0': {
    ...bothOlder,
    requestIdPrefix: () => 'benchmark-serving',
    pinsOutput: () => false,
    poolingMetrics: 'ttft,tpot,itl',
  },
  'vllm-0.11.1': { ...bothOlder, ...sinceOlder },
  'vllm-2026-08': newest,
  servetune: {
    ...newest,
    // The same work for everyone: what vLLM does for its own backends is done for every engine that generates.
    pinsOutput: (dataset, backend) =>
      !isPooling(backend) && datasets.some(({ name, pinsOutput }) => name === dataset && pinsOutput),
    metricNames: [...new Set([...metrics.map(({ name }) => name), ...queueMetrics])],
  },
};

export const defaultsOf = (compat: Compat): VersionDefaults => versions[compat];

/** Completions and chat completions: what vLLM calls OpenAI-compatible. */
export const isOpenAi = (backend: string): boolean => isChat(backend) || backend === 'openai' || backend === 'vllm';
export const isChat = (backend: string): boolean => backend === 'openai-chat' || backend === 'vllm-chat';
/** Backends whose answers are no tokens. */
export const isPooling = (backend: string): boolean =>
  endpoints.some(({ name, generates }) => name === backend && !generates);

/** `--backend`, or its old name. */
export const backendOf = (given: Pick<BenchOptions, 'backend' | 'endpoint_type'>): string =>
  given.endpoint_type ?? given.backend;

/** Names that `--percentile-metrics` may have, and what it is when nothing is said. */
export const metricsOf = (
  given: Pick<BenchOptions, 'compat' | 'backend' | 'endpoint_type' | 'percentile_metrics'>,
): { readonly text: string; readonly known: readonly string[] } => {
  const { metricNames, poolingMetrics } = defaultsOf(given.compat);
  const usual = isPooling(backendOf(given)) ? poolingMetrics : 'ttft,tpot,itl';
  return { text: given.percentile_metrics || usual, known: metricNames };
};

/** Whether the output length is pinned because of what is sent. */
export const pinsOutput = (given: BenchOptions): boolean =>
  defaultsOf(given.compat).pinsOutput(given.dataset_name, backendOf(given));
