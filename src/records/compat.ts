/**
 * Whose behaviour a load reproduces: prompts, request bodies, defaults, metrics, result block and exit code together.
 * `servetune` sends what the newest vLLM sends and measures by the corrected definitions of `docs/metrics.md`; the others
 * do what `vllm bench serve` of that release does (`vllm-2026-08` is its main branch of August 2026).
 */
export const compatModes = ['servetune', 'vllm-0.11.0', 'vllm-0.11.1', 'vllm-2026-08'] as const;
export type Compat = (typeof compatModes)[number];
