import type { RunFacts } from '../../../src/metrics/run-facts.ts';
import type { VllmOutput } from '../../../src/metrics/vllm/output.ts';

/** A successful request: four tokens, one every 250 ms, the first after 250 ms. */
export const output = (changes: Partial<VllmOutput> = {}): VllmOutput => ({
  success: true,
  promptTokensByClient: 64,
  promptTokens: 64,
  outputTokens: 4,
  ttftS: 0.25,
  itlS: [0.25, 0.25, 0.25],
  startS: 0,
  latencyS: 1,
  generatedText: '',
  error: '',
  ...changes,
});

export const run: RunFacts = {
  date: '20260817-120000',
  backend: 'openai-chat',
  label: null,
  modelId: 'Qwen/Qwen3-0.6B',
  tokenizerId: 'Qwen/Qwen3-0.6B',
  numPrompts: 5,
  requestRate: Number.POSITIVE_INFINITY,
  burstiness: 1,
  maxConcurrency: null,
};
