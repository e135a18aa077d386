import type { SourceStats } from './source.ts';

/** How a request ended: by itself, because the client went away, or because the engine failed. */
export const finishes = ['stop', 'length', 'cancelled', 'error'] as const;
export type Finish = (typeof finishes)[number];

/** What the server counts since its start. */
export interface Counters {
  /** Tokens of prompts that were read, counted when the first token of their answer comes. */
  promptTokens: number;
  /** Tokens that were generated and handed to an answer. */
  generationTokens: number;
  readonly finished: Record<Finish, number>;
}

export const newCounters = (): Counters => ({
  promptTokens: 0,
  generationTokens: 0,
  finished: { stop: 0, length: 0, cancelled: 0, error: 0 },
});

/**
 * `GET /metrics` in Prometheus' text format 0.0.4. Every name that there is stands here, with its meaning as HELP; in
 * brackets the counter of llama-server that means the same.
 */
export function metricsText(counters: Counters, stats: SourceStats): string {
  const lines: string[] = [];
  const metric = (name: string, type: 'counter' | 'gauge', help: string, samples: readonly [string, number][]) =>
    lines.push(
      `# HELP servetune:${name} ${help}`,
      `# TYPE servetune:${name} ${type}`,
      ...samples.map(([labels, value]) => `servetune:${name}${labels} ${value}`),
    );
  metric('requests_running', 'gauge', 'Requests being generated for [requests_processing]', [['', stats.running]]);
  metric('requests_waiting', 'gauge', 'Requests that wait for room [requests_deferred]', [['', stats.waiting]]);
  metric('prompt_tokens_total', 'counter', 'Prompt tokens read [prompt_tokens_total]', [['', counters.promptTokens]]);
  metric('generation_tokens_total', 'counter', 'Tokens generated [tokens_predicted_total]', [
    ['', counters.generationTokens],
  ]);
  metric(
    'requests_finished_total',
    'counter',
    'Requests that ended, by reason',
    finishes.map((reason) => [`{reason="${reason}"}`, counters.finished[reason]]),
  );
  metric('steps_total', 'counter', 'Passes through the model [n_decode_total]', [['', stats.steps]]);
  metric('kv_cache_usage_ratio', 'gauge', 'Share of the KV cache in use, 0 to 1', [['', stats.kvCacheUsage]]);
  return `${lines.join('\n')}\n`;
}
