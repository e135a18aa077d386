import type { Problem } from '../../kit/errors.ts';
import { gpuClass } from '../../records/gpu.ts';
import type { Settings } from '../../records/settings.ts';
import type { Facts } from '../engine.ts';
import { batchProblems, extraArgsProblems, gpuConflicts, type KernelNeeds } from '../rules.ts';
import { reservedFlags } from './settings.ts';

/** By its own table of number formats and GPUs; FP8 checkpoints are not unpacked on GPUs that cannot multiply them. */
const needs: KernelNeeds = {
  quantization: { fp8: [{ from: 89 }], awq: [{ from: 80, below: 100 }], nvfp4: [{ from: 100 }] },
  fp8Cache: {
    default: [{ from: 80 }],
    trtllm: [{ from: 80 }],
    flashinfer: [{ from: 80 }],
  },
};

/** What TensorRT-LLM, or the GPU under it, cannot do. */
export function conflicts(chosen: Settings, facts: Facts): readonly Problem[] {
  const problems: Problem[] = [
    ...gpuConflicts(chosen, facts, needs),
    ...batchProblems(chosen),
    ...extraArgsProblems(chosen, reservedFlags),
  ];
  const { gpus = [] } = facts;
  const other = gpus.find(({ vendor }) => vendor !== 'nvidia');
  if (other !== undefined) {
    problems.push({
      place: 'engine',
      message: `it runs on NVIDIA's GPUs only, and here is ${other.name}`,
      hint: 'use another engine',
    });
  }
  const cannot = gpus.find((gpu) => !gpuClass(gpu).fp4);
  if (chosen.kv_cache_dtype === 'nvfp4' && cannot !== undefined) {
    problems.push({
      place: 'kv_cache_dtype',
      message: `an NVFP4 cache needs Blackwell, and here is ${cannot.name}`,
      hint: 'use fp8, or leave it out',
    });
  }
  const { speculative_method: method } = chosen;
  if ((method === 'eagle3' || method === 'ngram') && chosen.speculative_tokens === undefined) {
    problems.push({
      place: 'speculative_method',
      message: `${method} has no default of how many tokens are drafted`,
      hint: 'set speculative_tokens',
    });
  }
  return problems;
}
