import type { Problem } from '../../kit/errors.ts';
import type { Settings } from '../../records/settings.ts';
import type { Facts } from '../engine.ts';
import { extraArgsProblems, gpuConflicts } from '../rules.ts';
import { reservedFlags } from './settings.ts';

/** Cache types that only flash attention can read. */
const quantized = new Set(['q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1']);

/** What llama-server refuses, or takes and does not do. */
export function conflicts(chosen: Settings, facts: Facts): readonly Problem[] {
  const problems: Problem[] = [...gpuConflicts(chosen, facts), ...extraArgsProblems(chosen, reservedFlags)];
  const { attention_backend, kv_cache_dtype, kv_offload_gib, prefix_caching } = chosen;
  if (quantized.has(String(kv_cache_dtype)) && attention_backend === 'plain') {
    problems.push({
      place: 'kv_cache_dtype',
      message: `a ${kv_cache_dtype} cache needs flash attention`,
      hint: 'attention_backend flash, or a cache of f16, bf16 or f32',
    });
  }
  if (prefix_caching === false && typeof kv_offload_gib === 'number' && kv_offload_gib > 0) {
    problems.push({
      place: 'kv_offload_gib',
      message: 'without prefix_caching nothing is looked for there',
      hint: 'leave one of them out',
    });
  }
  return problems;
}
