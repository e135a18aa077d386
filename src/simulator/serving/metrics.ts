import type { Counters } from '../../serving/counters.ts';
import { type MetricsText, metricsText } from './prometheus.ts';
import type { EngineState } from './state.ts';

/** What the metrics of an engine are made of. */
export interface Observed {
  readonly model: string;
  readonly state: EngineState;
  readonly counters: Counters;
  readonly blockTokens: number;
  /** Drafts are verified. */
  readonly drafting: boolean;
}

/** vLLM's names, as 0.25.1 has them. */
export function vllmMetrics({ model, state, counters, blockTokens, drafting }: Observed): string {
  const { finished } = counters;
  const text = metricsText('vllm:', { engine: '0', model_name: model });
  text.gauge('num_requests_running', 'Number of requests in model execution batches.', [state.running]);
  text.gauge('num_requests_waiting', 'Number of requests waiting to be processed.', [state.waiting]);
  text.gauge('kv_cache_usage_perc', 'KV-cache usage. 1 means 100 percent usage.', [
    state.kvTokensUsed / state.kvTokens,
  ]);
  text.counter('prefix_cache_queries', 'Prefix cache queries, in terms of number of queried tokens.', [
    state.prefixQueries,
  ]);
  text.counter('prefix_cache_hits', 'Prefix cache hits, in terms of number of cached tokens.', [state.prefixHits]);
  text.counter('num_preemptions', 'Cumulative number of preemption from the engine.', [state.preemptions]);
  text.counter('prompt_tokens', 'Number of prefill tokens processed.', [counters.promptTokens]);
  text.counter('prompt_tokens_cached', 'Number of cached prompt tokens.', [state.prefixHits]);
  text.counter('generation_tokens', 'Number of generation tokens processed.', [counters.generationTokens]);
  text.counter(
    'request_success',
    'Count of successfully processed requests.',
    [finished.stop, { finished_reason: 'stop' }],
    [finished.length, { finished_reason: 'length' }],
    [finished.cancelled, { finished_reason: 'abort' }],
    [finished.error, { finished_reason: 'error' }],
  );
  if (drafting) {
    text.counter('spec_decode_num_drafts', 'Number of spec decoding drafts.', [state.drafts]);
    text.counter('spec_decode_num_draft_tokens', 'Number of draft tokens.', [state.draftedTokens]);
    text.counter('spec_decode_num_accepted_tokens', 'Number of accepted tokens.', [state.acceptedTokens]);
  }
  text.gauge('cache_config_info', 'Information of the LLMEngine CacheConfig', [
    1,
    { block_size: String(blockTokens), num_gpu_blocks: String(Math.floor(state.kvTokens / blockTokens)) },
  ]);
  return withLag(text, state);
}

/** SGLang's names, as 0.5.11 has them. */
export function sglangMetrics({ model, state, counters, drafting }: Observed): string {
  const { finished } = counters;
  const ended = finished.stop + finished.length;
  const text = metricsText('sglang:', { engine_type: 'unified', model_name: model });
  const hitRate = state.prefixQueries === 0 ? 0 : state.prefixHits / state.prefixQueries;
  text.gauge('num_running_reqs', 'The number of running requests.', [state.running]);
  text.gauge('num_queue_reqs', 'The number of requests in the waiting queue.', [state.waiting]);
  text.gauge('token_usage', 'The token usage.', [state.kvTokensUsed / state.kvTokens]);
  text.gauge('num_used_tokens', 'The number of used tokens.', [state.kvTokensUsed]);
  text.gauge('max_total_num_tokens', 'Maximum total number of tokens in the KV cache pool.', [state.kvTokens]);
  text.gauge('cache_hit_rate', 'The prefix cache hit rate.', [hitRate]);
  text.counter('num_retracted_requests', 'Total number of retracted requests.', [state.preemptions]);
  text.counter('prompt_tokens', 'Number of prefill tokens processed.', [counters.promptTokens]);
  text.counter('generation_tokens', 'Number of generation tokens processed.', [counters.generationTokens]);
  text.counter('cached_tokens', 'Number of cached prompt tokens.', [state.prefixHits, { cache_source: 'device' }]);
  text.counter('num_requests', 'Number of requests processed.', [ended]);
  text.counter('num_aborted_requests', 'Number of requests aborted.', [finished.cancelled]);
  if (drafting && state.drafts > 0) {
    text.gauge('spec_accept_length', 'The average acceptance length of speculative decoding.', [
      1 + state.acceptedTokens / state.drafts,
    ]);
    text.gauge('spec_accept_rate', 'The average acceptance rate of speculative decoding.', [
      state.acceptedTokens / state.draftedTokens,
    ]);
  }
  return withLag(text, state);
}

/** TensorRT-LLM's Prometheus names, which it serves beside its list of iterations. */
export function tensorrtMetrics({ model, state, counters, blockTokens }: Observed): string {
  const text = metricsText('trtllm_', { model_name: model, engine_type: 'unified' });
  const hitRate = state.prefixQueries === 0 ? 0 : state.prefixHits / state.prefixQueries;
  text.gauge('num_requests_running', 'Requests being computed.', [state.running]);
  text.gauge('num_requests_waiting', 'Requests that wait.', [state.waiting]);
  text.gauge('kv_cache_utilization', 'Share of the KV cache in use, 0 to 1.', [state.kvTokensUsed / state.kvTokens]);
  text.gauge('kv_cache_hit_rate', 'Share of prompt blocks found in the KV cache.', [hitRate]);
  text.counter('kv_cache_reused_blocks', 'Blocks found in the KV cache.', [Math.floor(state.prefixHits / blockTokens)]);
  text.counter('kv_cache_missed_blocks', 'Blocks not found there.', [missedBlocks(state, blockTokens)]);
  text.counter(
    'request_success',
    'Requests that ended well.',
    [counters.finished.stop, { finished_reason: 'stop' }],
    [counters.finished.length, { finished_reason: 'length' }],
  );
  return withLag(text, state);
}

export const missedBlocks = ({ prefixQueries, prefixHits }: EngineState, blockTokens: number): number =>
  Math.floor((prefixQueries - prefixHits) / blockTokens);

/** Whether the pacing can be believed. */
function withLag({ text }: MetricsText, { behindS }: EngineState): string {
  const name = 'servetune_simulation_behind_seconds';
  const help = 'Simulated seconds by which steps leave late, because this machine cannot keep up';
  return `${text}# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${behindS}\n`;
}
